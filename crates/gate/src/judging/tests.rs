use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use super::*;
use crate::clock::Fake;

/// An executor that keeps jobs until it is told to run one.
#[derive(Default)]
struct ManualExecutor {
    slots: usize,
    jobs: Mutex<VecDeque<Job>>,
}

impl fmt::Debug for ManualExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}

impl ManualExecutor {
    fn started(&self) -> usize {
        self.jobs.lock().unwrap().len()
    }

    fn run_one(&self) {
        let job = self.jobs.lock().unwrap().pop_front();
        job.expect("nothing was started")();
    }
}

impl Executor for ManualExecutor {
    fn slots(&self) -> usize {
        self.slots
    }

    fn start(&self, job: Job) -> io::Result<()> {
        self.jobs.lock().unwrap().push_back(job);
        Ok(())
    }
}

/// An executor without threads.
#[derive(Debug)]
struct Nowhere;

impl Executor for Nowhere {
    fn slots(&self) -> usize {
        1
    }

    fn start(&self, _: Job) -> io::Result<()> {
        Err(io::ErrorKind::OutOfMemory.into())
    }
}

struct World {
    clock: Arc<Fake>,
    held: Arc<ManualExecutor>,
    judging: Judging,
    done: Arc<Mutex<Vec<&'static str>>>,
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<usize, NotJudged>> + 'a>>;

impl World {
    fn new(slots: usize) -> Self {
        let clock = Arc::new(Fake::at(Timestamp(1_000_000)));
        let held = Arc::new(ManualExecutor { slots, ..ManualExecutor::default() });
        let judging = Judging::new(held.clone(), clock.clone());
        Self { clock, held, judging, done: Arc::default() }
    }

    /// A large job that was submitted.
    fn large(&self, lane: &Lane, name: &'static str) -> Running<'_> {
        self.of_size(lane, name, INLINE + 1)
    }

    fn of_size(&self, lane: &Lane, name: &'static str, bytes: usize) -> Running<'_> {
        let (lane, done) = (lane.clone(), Arc::clone(&self.done));
        let work = move || {
            let mut done = done.lock().unwrap();
            done.push(name);
            done.len()
        };
        let mut running: Running<'_> =
            Box::pin(async move { self.judging.run(&lane, bytes, work).await });
        assert!(bytes <= INLINE || poll(&mut running).is_none(), "nothing runs by itself");
        running
    }

    fn refused(&self, lane: &Lane, bytes: usize) -> NotJudged {
        let run = self.judging.run(lane, bytes, || ());
        match std::pin::pin!(run).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Err(refused)) => refused,
            other => panic!("not refused: {other:?}"),
        }
    }

    fn done(&self) -> Vec<&'static str> {
        self.done.lock().unwrap().clone()
    }
}

fn poll(running: &mut Running<'_>) -> Option<Result<usize, NotJudged>> {
    match running.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    }
}

fn key(number: u8) -> Lane {
    Lane::Key(KeyId::from_bytes([number; 16]))
}

fn person() -> Lane {
    Lane::Person(UserId::from_bytes([9; 16]))
}

#[test]
fn lanes_take_turns_however_much_one_has_waiting() {
    let world = World::new(1);
    let _waiting = [
        world.large(&key(1), "one, first"),
        world.large(&key(1), "one, second"),
        world.large(&key(1), "one, third"),
        world.large(&key(2), "two"),
        world.large(&person(), "a person"),
    ];
    for _ in 0..5 {
        assert_eq!(world.held.started(), 1);
        world.held.run_one();
    }
    let order = ["one, first", "two", "a person", "one, second", "one, third"];
    assert_eq!(world.done(), order);
}

#[test]
fn a_lane_takes_one_slot_however_many_are_free() {
    let world = World::new(4);
    let _waiting = [world.large(&key(1), "first"), world.large(&key(1), "second")];
    assert_eq!(world.held.started(), 1);
    let mut other = world.large(&key(2), "other");
    assert_eq!(world.held.started(), 2);
    world.held.run_one();
    world.held.run_one();
    assert_eq!(poll(&mut other), Some(Ok(2)));
    world.held.run_one();
    assert_eq!(world.done(), ["first", "other", "second"]);
}

#[test]
fn what_is_small_waits_for_nothing() {
    let world = World::new(1);
    let _slow = world.large(&key(1), "slow");
    assert_eq!(poll(&mut world.of_size(&key(1), "small", INLINE)), Some(Ok(1)));
    assert_eq!(world.done(), ["small"]);
}

#[test]
fn a_lane_that_has_used_its_time_is_refused_and_others_are_not() {
    let world = World::new(1);
    for _ in 0..2 {
        let mut slow = world.large(&key(1), "slow");
        world.clock.pass(Duration::from_secs(9));
        world.held.run_one();
        assert!(matches!(poll(&mut slow), Some(Ok(_))));
    }
    let NotJudged::OverBudget(wait) = world.refused(&key(1), INLINE + 1) else {
        panic!("it is the key that is over its budget");
    };
    let mut other = world.large(&key(2), "other");
    world.held.run_one();
    assert!(matches!(poll(&mut other), Some(Ok(_))));
    world.clock.pass(wait);
    let mut again = world.large(&key(1), "again");
    world.held.run_one();
    assert!(matches!(poll(&mut again), Some(Ok(_))));
}

#[test]
fn what_waits_in_a_lane_that_is_used_up_meanwhile_is_not_run() {
    let world = World::new(1);
    let _slow = world.large(&key(1), "slow");
    let mut next = world.large(&key(1), "next");
    world.clock.pass(Duration::from_secs(30));
    world.held.run_one();
    world.held.run_one();
    assert!(matches!(poll(&mut next), Some(Err(NotJudged::OverBudget(_)))));
    assert_eq!(world.done(), ["slow"]);
}

#[test]
fn a_full_queue_refuses_keys_and_has_room_for_people() {
    let world = World::new(1);
    let lanes = u8::try_from(ALL_BYTES / LANE_BYTES).unwrap();
    let _slow = world.large(&person(), "slow");
    let _waiting: Vec<_> =
        (0..lanes).map(|lane| world.of_size(&key(lane), "large", LANE_BYTES)).collect();
    assert!(matches!(world.refused(&key(0), INLINE + 1), NotJudged::OverBudget(_)));
    assert_eq!(world.refused(&key(200), INLINE + 1), NotJudged::Full);
    let _room = world.large(&person(), "a person");
}

#[test]
fn nothing_is_run_for_a_caller_who_is_gone() {
    let world = World::new(1);
    drop(world.large(&key(1), "gone"));
    world.held.run_one();
    assert_eq!(world.done(), [""; 0]);
    let mut next = world.large(&key(1), "next");
    world.held.run_one();
    assert_eq!(poll(&mut next), Some(Ok(1)));
}

#[test]
fn without_a_thread_everything_large_is_refused() {
    let clock = Arc::new(Fake::at(Timestamp(0)));
    let judging = Judging::new(Arc::new(Nowhere), clock);
    for _ in 0..3 {
        let refused = pollster::block_on(judging.run(&key(1), INLINE + 1, || ()));
        assert_eq!(refused, Err(NotJudged::Full));
    }
}

#[test]
fn a_panic_takes_neither_thread_nor_slot_along() {
    let judging = Judging::new(Arc::new(Threads::new(1)), Arc::new(Fake::at(Timestamp(0))));
    let panics = || -> usize { panic!("on purpose") };
    let refused = pollster::block_on(judging.run(&key(1), INLINE + 1, panics));
    assert_eq!(refused, Err(NotJudged::Full));
    assert_eq!(pollster::block_on(judging.run(&key(1), INLINE + 1, || 7)), Ok(7));
}

#[test]
fn many_callers_get_their_own_results_from_few_threads() {
    let clock = Arc::new(Fake::at(Timestamp(0)));
    let judging = Judging::new(Arc::new(Threads::new(2)), clock);
    let (at_once, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    std::thread::scope(|scope| {
        for caller in 0..16_u8 {
            let (judging, at_once, most) = (&judging, &at_once, &most);
            scope.spawn(move || {
                for number in 0..20_usize {
                    let (at_once, most) = (Arc::clone(at_once), Arc::clone(most));
                    let work = move || {
                        most.fetch_max(
                            at_once.fetch_add(1, Ordering::SeqCst) + 1,
                            Ordering::SeqCst,
                        );
                        std::thread::yield_now();
                        at_once.fetch_sub(1, Ordering::SeqCst);
                        number
                    };
                    let lane = key(caller);
                    let run = judging.run(&lane, INLINE + 1, work);
                    assert_eq!(pollster::block_on(run), Ok(number));
                }
            });
        }
    });
    assert!(most.load(Ordering::SeqCst) <= 2);
}

#[test]
fn a_size_is_that_of_the_text() {
    assert_eq!(size(&"abc"), 5);
    assert!(size(&"x".repeat(INLINE)) > INLINE);
}
