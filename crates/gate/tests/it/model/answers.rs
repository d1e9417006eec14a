//! The steps of a trace in which people answer.

use std::collections::BTreeSet;

use countersign_gate::approval::Answer;
use countersign_gate::gate::{AnswerError, Answered, PersonAnswer, SpendError};
use countersign_gate::id::ApprovalId;
use countersign_gate::secret::{Secret, SecretKind};
use pollster::block_on;

use crate::model::brittle::Fate;
use crate::model::reference::{Against, Came, Expected, OWNER, PEOPLE};
use crate::model::trace::Trace;

impl Trace {
    /// Gives one answer, or several at once.
    pub(super) fn answer(&mut self) {
        let many = if self.dice.once_in(5) { 1 + self.dice.below(3) } else { 1 };
        let person = self.dice.below(PEOPLE);
        let mut all: Vec<Expected> = Vec::new();
        for _ in 0..many {
            let Some(mut said) = self.any_said(person) else { return };
            // With two new questions, it would be unclear which belongs to whom.
            if all.iter().any(|other| other.edited.is_some()) {
                said.edited = None;
            }
            // The same one twice is another race, with one winner; here it would be unclear which.
            if all.iter().all(|other| other.approval != said.approval) {
                all.push(said);
            }
        }
        match <[Expected; 1]>::try_from(all) {
            Ok([said]) => self.answer_one(&said),
            Err(all) => self.answer_group(person, &all),
        }
    }

    fn any_said(&mut self, person: usize) -> Option<Expected> {
        let approval = self.any_approval()?;
        // Mostly a person who may answer it.
        let called: Vec<_> = (0..PEOPLE)
            .filter(|person| self.model.is_called(*person, &self.model.approvals[&approval]))
            .collect();
        let person = if self.dice.once_in(4) { person } else { *self.dice.pick(&called) };
        Some(Expected {
            person,
            approval,
            say: self.any_say(),
            scope: self.any_scope(),
            wrong_token: self.dice.once_in(12),
            edited: self.dice.once_in(8).then(|| self.dice.below(self.model.pool.len())),
            feedback: self.dice.once_in(3).then(|| "not like this".to_owned()),
        })
    }

    fn reply(&mut self, said: &Expected) -> PersonAnswer {
        let shown = block_on(self.stage.gate().card(&self.stage.people[OWNER], &said.approval));
        let right = shown.unwrap().token;
        let token = match (said.wrong_token, self.dice.once_in(2)) {
            (true, _) => Some(Secret::from_bytes(SecretKind::Token, &[3; 32])),
            (false, true) => right,
            (false, false) => None,
        };
        PersonAnswer {
            approval: said.approval.clone(),
            say: said.say,
            scope: said.scope,
            feedback: said.feedback.clone(),
            token,
            edited: said.edited.map(|edited| self.model.pool[edited].clone()),
        }
    }

    fn answer_one(&mut self, said: &Expected) {
        let against = self.model.against_answer(said);
        let state = self.model.approvals[&said.approval].state;
        self.note(&format!("answer {said:?} ({state}), against it {against:?}"));
        let reply = self.reply(said);
        let plain = said.edited.is_none() || said.say == Answer::Reject;
        let fate = self.doomed().then(|| {
            let after = plain && against.is_empty() && self.dice.once_in(2);
            if after { Fate::After } else { Fate::Before(0) }
        });
        if let Some(fate) = fate {
            self.doom(fate);
        }
        // As on a connection that was opened long ago.
        let person = &self.stage.people[said.person];
        let got = block_on(self.stage.gate().answer(person, reply));
        if self.stage.store.spare() {
            assert!(got.is_err(), "an answer was taken that is not on disk");
            if fate == Some(Fate::After) {
                self.model.answer(said, None);
            }
            self.reopen();
            return;
        }
        self.compare(said, &against, got);
    }

    fn answer_group(&mut self, person: usize, all: &[Expected]) {
        let all: Vec<_> = all.iter().map(|said| Expected { person, ..said.clone() }).collect();
        self.note(&format!("answer all {all:?}"));
        let replies: Vec<_> = all.iter().map(|said| self.reply(said)).collect();
        let gate = self.stage.gate();
        let got = block_on(gate.answer_all(&self.stage.people[person], replies)).unwrap();
        assert_eq!(got.len(), all.len());
        for (said, (id, got)) in all.iter().zip(got) {
            assert_eq!(said.approval, id);
            let against = self.model.against_answer(said);
            self.compare(said, &against, got);
        }
    }

    fn compare(
        &mut self,
        said: &Expected,
        against: &BTreeSet<Against>,
        got: Result<Answered, AnswerError>,
    ) {
        let answered = match got {
            Ok(answered) => answered,
            Err(error) => {
                let why = answer_reason(&error);
                is_among(&why, against);
                self.tally.answers_refused += 1;
                return;
            }
        };
        assert!(against.is_empty(), "answered {answered:?}");
        self.tally.answered += 1;
        let new = match (&answered, said.edited, said.say) {
            (Answered::AskedAgain(id), ..) => Some(id.clone()),
            (_, Some(_), Answer::Approve) => Some(self.replacing()),
            _ => None,
        };
        let came = self.model.answer(said, new);
        let got = match answered {
            Answered::Settled(state) => Came::Settled(state.as_str()),
            Answered::Counted { have, need } => Came::Counted(have, need),
            Answered::AskedAgain(_) => Came::AskedAgain,
        };
        assert_eq!(got, came);
    }

    /// The approval that an edited action got.
    fn replacing(&self) -> ApprovalId {
        let all = super::check::approvals(&self.stage).into_iter();
        let new = all.filter(|(id, _)| !self.model.approvals.contains_key(id));
        let mut new: Vec<_> = new.collect();
        assert_eq!(new.len(), 1, "one question goes and one comes");
        new.remove(0).0
    }
}

/// Checks that the gate's reason is one of the model's; and that another person's approval does not
/// exist for them.
pub(super) fn is_among(why: &Against, against: &BTreeSet<Against>) {
    assert!(against.contains(why), "refused for {why:?}");
    if against.contains(&Against::NotFound) {
        assert!(matches!(why, Against::NotFound | Against::Halted), "told of what is not theirs");
    }
}

fn answer_reason(error: &AnswerError) -> Against {
    match error {
        AnswerError::NotFound => Against::NotFound,
        AnswerError::Settled(state) => Against::Settled(state),
        AnswerError::Token => Against::Token,
        AnswerError::OthersMustAgree => Against::OthersMustAgree,
        AnswerError::NotForAlways => Against::NotForAlways,
        AnswerError::EditedIsBlocked(_) => Against::Blocked,
        AnswerError::Halted => Against::Halted,
        other => panic!("{other}"),
    }
}

pub(super) fn spend_reason(error: &SpendError) -> Against {
    match error {
        SpendError::NotFound => Against::NotFound,
        SpendError::Pending => Against::Pending,
        SpendError::Settled(state) => Against::Settled(state),
        SpendError::OtherAction => Against::OtherAction,
        SpendError::Scope(_) => Against::Scope,
        SpendError::Session => Against::Session,
        SpendError::TooFewAgree => Against::TooFewAgree,
        SpendError::Halted => Against::Halted,
        other => panic!("{other}"),
    }
}
