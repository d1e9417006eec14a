//! Every deadline, under every way in which the system's clock can be wrong: nothing ends late, and
//! nothing ends early unless the clock was set forward.

use std::time::Duration;

use countersign_core::policy::profile::Limits;
use countersign_gate::approval::{Answer, Scope};
use countersign_gate::clock::Clock as _;
use countersign_gate::gate::PersonAnswer;
use countersign_gate::id::{ApprovalId, SessionId};
use countersign_gate::key::{Access, Devices, NewKey};
use countersign_gate::rate::Rate;
use countersign_gate::secret::Secret;
use countersign_gate::session::Plan;
use countersign_gate::{Config, Submitted};
use pollster::block_on;

use crate::world::{RISKY, SAFE, Setup, World, shell};

const DAY: Duration = Duration::from_hours(24);

/// A fault of the system's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wrong {
    /// None.
    Right,
    /// It is set back by this.
    Back(Duration),
    /// It is set forward by this.
    Forward(Duration),
    /// It is set forward by a day and back again.
    There,
    /// It runs this many times as fast.
    Speed(f64),
    /// It is set back by a day, and the server is started again.
    BackAndRestart,
}

const WRONG: &[Wrong] = &[
    Wrong::Right,
    Wrong::Back(Duration::from_mins(10)),
    Wrong::Back(DAY),
    Wrong::Forward(DAY),
    Wrong::There,
    Wrong::Speed(0.5),
    Wrong::Speed(0.9),
    Wrong::Speed(2.0),
    Wrong::BackAndRestart,
];

impl Wrong {
    /// Reports whether deadlines may end early.
    fn may_end_early(self) -> bool {
        match self {
            Self::Right | Self::Back(_) | Self::BackAndRestart => false,
            Self::Forward(_) | Self::There => true,
            Self::Speed(rate) => rate > 1.0,
        }
    }

    fn begin(self, world: World) -> World {
        let clock = &world.clock;
        match self {
            Self::Right | Self::Speed(_) => {}
            Self::Back(by) => clock.set(clock.now().before(by)),
            Self::Forward(by) => clock.set(clock.now().after(by)),
            Self::There => {
                clock.set(clock.now().after(DAY));
                let _ = world.gate.now();
                clock.set(clock.now().before(DAY));
            }
            Self::BackAndRestart => {
                clock.set(clock.now().before(DAY));
                return world.restart(setup());
            }
        }
        world
    }

    /// Lets time pass, in steps as small as a sweep's.
    fn pass(self, world: &World, duration: Duration) {
        let rate = if let Self::Speed(rate) = self { rate } else { 1.0 };
        for _ in 0..20 {
            world.clock.run(duration / 20, rate);
            let _ = world.gate.now();
        }
    }
}

/// Something that ends by itself.
struct Deadline {
    name: &'static str,
    /// Its duration.
    lasts: Duration,
    begin: fn(&World) -> Expiring,
    /// Reports whether it still exists. This must not use it up.
    lives: fn(&World, &Expiring) -> bool,
    /// True when it ends early if the clock is set forward. Retention never does.
    follows: bool,
}

/// The subject of a deadline.
enum Expiring {
    Approval(ApprovalId),
    Link(Secret),
    Session(SessionId),
    Key(Secret),
    Nothing,
}

fn setup() -> Setup {
    let config =
        Config { prompts: Rate::per_hour(2), approval_timeout: Some(600), ..Config::default() };
    Setup { config, on_disk: true, ..Setup::default() }
}

#[expect(clippy::too_many_lines, reason = "a table of everything that expires")]
fn deadlines() -> Vec<Deadline> {
    vec![
        Deadline {
            name: "a question",
            lasts: Duration::from_mins(10),
            begin: |world| Expiring::Approval(world.ask(&shell(RISKY))),
            lives: |world, thing| {
                let Expiring::Approval(approval) = thing else { return false };
                world.sweep();
                world.state(approval) == "pending"
            },
            follows: true,
        },
        Deadline {
            name: "a yes",
            lasts: Duration::from_mins(5),
            begin: |world| {
                let approval = world.ask(&shell(RISKY));
                world.say(&approval, Answer::Approve);
                Expiring::Approval(approval)
            },
            lives: |world, thing| {
                let Expiring::Approval(approval) = thing else { return false };
                world.sweep();
                world.state(approval) == "approved"
            },
            follows: true,
        },
        Deadline {
            name: "a link",
            lasts: Duration::from_mins(15),
            begin: |world| Expiring::Link(block_on(world.gate.invite(&world.owner)).unwrap()),
            lives: |world, thing| {
                let Expiring::Link(link) = thing else { return false };
                // A link works only once, so it is not tried while it exists.
                let invitations = "SELECT count(*) FROM docs WHERE kind = 'invitation'";
                world.sweep();
                let count: i64 =
                    world.database().query_row(invitations, [], |row| row.get(0)).unwrap();
                count > 0 || block_on(world.gate.accept(link, "late")).is_ok()
            },
            follows: true,
        },
        Deadline {
            name: "a session",
            lasts: Duration::from_mins(2),
            begin: |world| {
                let limits = Limits { session_seconds: Some(120), ..Limits::default() };
                Expiring::Session(world.session(Plan { limits, ..Plan::default() }))
            },
            lives: |world, thing| {
                let Expiring::Session(session) = thing else { return false };
                world.sweep();
                block_on(world.gate.session(&world.owner, session)).unwrap().is_alive()
            },
            follows: true,
        },
        Deadline {
            name: "a key",
            lasts: Duration::from_hours(1),
            begin: |world| {
                let key = NewKey {
                    name: "short".into(),
                    workspace: world.workspace.clone(),
                    scopes: Vec::new(),
                    access: Access::Agent,
                    devices: Devices::Any,
                    writes: Rate::per_minute(1_000),
                    expires_at: Some(world.gate.now().after(Duration::from_hours(1))),
                };
                Expiring::Key(block_on(world.gate.create_key(&world.owner, key)).unwrap().secret)
            },
            lives: |world, thing| {
                let Expiring::Key(secret) = thing else { return false };
                block_on(world.gate.authenticate(secret, None)).is_ok()
            },
            follows: true,
        },
        Deadline {
            name: "a remembered yes",
            lasts: DAY * 30,
            begin: |world| {
                let approval = world.ask(&shell(RISKY));
                let reply = PersonAnswer {
                    scope: Scope::Always,
                    ..PersonAnswer::plain(approval, Answer::Approve)
                };
                block_on(world.gate.answer(&world.owner, reply)).unwrap();
                Expiring::Nothing
            },
            lives: |world, _| {
                world.sweep();
                !block_on(world.gate.remembered_answers(&world.owner)).unwrap().is_empty()
            },
            follows: true,
        },
        Deadline {
            name: "a rate that is used up",
            lasts: Duration::from_mins(30),
            begin: |world| {
                for branch in ["one", "two"] {
                    world.ask(&shell(&format!("git push --force origin {branch}")));
                }
                Expiring::Nothing
            },
            lives: |world, _| {
                // A proposal that cannot be asked about is refused; one that can leaves a question.
                matches!(
                    world.submit(&shell("git push --force origin three")),
                    Submitted::Refused(_)
                )
            },
            follows: true,
        },
        Deadline {
            name: "a record, with retention",
            lasts: DAY * 30,
            begin: |world| {
                drop(world.submit(&shell(SAFE)));
                Expiring::Nothing
            },
            lives: |world, _| {
                // The last record stays; that is not the first one.
                drop(world.submit(&shell(SAFE)));
                block_on(world.gate.retain()).unwrap();
                world.records().first().is_some_and(|record| record.number == 1)
            },
            follows: false,
        },
    ]
}

#[test]
fn every_deadline_holds_whatever_the_systems_clock_does() {
    for deadline in deadlines() {
        for wrong in WRONG {
            let told = format!("{} when the clock is wrong: {wrong:?}", deadline.name);
            let world = World::new(setup());
            let thing = (deadline.begin)(&world);
            let world = wrong.begin(world);
            let early = wrong.may_end_early() && deadline.follows;
            if !early {
                assert!((deadline.lives)(&world, &thing), "{told}: it has ended at once");
                wrong.pass(&world, deadline.lasts / 4);
                assert!((deadline.lives)(&world, &thing), "{told}: it has ended early");
            }
            wrong.pass(&world, deadline.lasts);
            assert!(!(deadline.lives)(&world, &thing), "{told}: it has outlived its time");
            world.verify();
        }
    }
}

#[test]
fn a_clock_that_is_set_leaves_a_record() {
    for (wrong, by) in [
        (Wrong::Back(DAY), -86_400),
        (Wrong::Forward(DAY), 86_400),
        (Wrong::BackAndRestart, -86_400),
    ] {
        let world = wrong.begin(World::new(setup()));
        world.sweep();
        world.sweep();
        let steps = world.recorded("clock_stepped");
        let bys: Vec<_> = steps.iter().map(|step| step["by_seconds"].clone()).collect();
        assert_eq!(bys, [by], "{wrong:?}");
    }
    for wrong in [Wrong::Right, Wrong::Back(Duration::from_secs(4)), Wrong::Speed(1.001)] {
        let world = wrong.begin(World::new(setup()));
        wrong.pass(&world, Duration::from_mins(10));
        world.sweep();
        assert_eq!(world.recorded("clock_stepped").len(), 0, "{wrong:?}");
    }
}

#[test]
fn a_late_answer_and_an_old_yes_are_refused_after_the_clock_was_set_back() {
    for back in [Duration::from_mins(10), DAY] {
        for restart in [false, true] {
            let world = World::new(setup());
            let late = world.ask(&shell(RISKY));
            let other = "git push --force origin release";
            let old = world.ask(&shell(other));
            world.say(&old, Answer::Approve);
            world.clock.set(world.clock.now().before(back));
            let world = if restart { world.restart(setup()) } else { world };
            world.pass(601);
            assert!(world.say_as(&world.owner, &late, Answer::Approve).is_err(), "{back:?}");
            assert_eq!(world.spend(&old, &shell(other)).unwrap_err(), "already expired");
        }
    }
}

#[test]
fn what_is_shown_is_by_the_systems_clock() {
    let world = World::new(setup());
    let approval = world.ask(&shell(RISKY));
    let left = |world: &World| {
        let card = block_on(world.gate.card(&world.owner, &approval)).unwrap();
        card.expires_at.since(world.clock.now())
    };
    let before = left(&world);
    world.clock.set(world.clock.now().before(DAY));
    assert_eq!(left(&world), before);
    world.pass(10);
    assert_eq!(left(&world) + Duration::from_secs(10), before);
}
