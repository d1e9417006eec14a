//! Complete erasure of a user: account, devices, keys, settings, questions, sessions, files and the
//! content of their records. The chain of records stays whole, and names the person who erased.

use crate::caller::Person;
use crate::clock::random;
use crate::document::Versioned;
use crate::gate::Gate;
use crate::gate::control::failed;
use crate::gate::people::PeopleError;
use crate::gate::people::device::waiting_count;
use crate::gate::submit::pending_key;
use crate::id::UserId;
use crate::key::ApiKey;
use crate::store::{Batch, Count, CountStep, Erase, Kind, Query};
use crate::user::User;

/// Kinds of documents that a user can own, beside their account and their files.
const OWNED: [Kind; 10] = [
    Kind::Approval,
    Kind::Session,
    Kind::Running,
    Kind::Device,
    Kind::Key,
    Kind::Settings,
    Kind::Remembered,
    Kind::Declined,
    Kind::Invitation,
    Kind::Machine,
];

impl Gate {
    /// Erases a user completely, and returns the number of records that lost their content. Only a
    /// super admin may, and never themselves.
    ///
    /// The account is deleted last, with the content of the records, so that an interrupted erasure
    /// can be repeated. Records of others still contain the user's id, which no longer belongs to
    /// anyone.
    ///
    /// # Errors
    /// The person may not do this, the user does not exist, or the store failed.
    pub async fn erase_user(&self, person: &Person, id: &UserId) -> Result<u64, PeopleError> {
        self.remove_user(person, id).await?;
        self.erase_files(id).await?;
        let mut counts = vec![
            Count { key: pending_key(id), step: CountStep::Forget },
            waiting_count(id, CountStep::Forget),
        ];
        let keys = Query { owner: Some(id.to_string()), ..Query::of(Kind::Key) };
        for key in self.all::<ApiKey>(keys).await? {
            let counter = |what| ApiKey::counter(&key.id, what);
            let forget = |key| Count { key, step: CountStep::Forget };
            counts.extend(["uses", "refused"].map(counter).map(forget));
        }
        for kind in OWNED {
            self.delete_all_of(id, kind).await?;
        }
        let account: Versioned<User> = self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        let (owner, by) = (Some(id.to_string()), person.user().id.to_string());
        let (at, salt) = (self.now(), random(&self.clock)?);
        let erase = Some(Erase { owner, before: None, by, at, salt });
        let writes = vec![account.delete()];
        let batch = Batch { writes, counts, erase, ..Batch::default() };
        Ok(self.commit(batch).await.map_err(failed)?.erased)
    }
}
