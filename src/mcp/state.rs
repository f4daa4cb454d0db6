//! The life of one connection, pure: facts in, orders out. The driver (`server`) carries the orders out.

use std::time::Duration;

/// Tries of a first connection, and of a later one.
const FIRST_TRIES: u32 = 3;
const LATER_TRIES: u32 = 5;
/// Longest wait between two tries.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Calls that fail in a row until calls are refused for a while, and how long.
const FAILURES: u32 = 3;
/// How long calls are refused then.
pub const BREAK: Duration = Duration::from_secs(60);

/// Where a connection is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Switched off, or not started yet.
    Off,
    /// The handshake and the first lists are under way.
    Connecting,
    Ready,
    /// It failed and will be tried again.
    Waiting,
    /// Put to sleep after a time without calls; its tools stay.
    Asleep,
    /// It wants a login first.
    NeedsLogin,
    /// Given up until somebody asks for it.
    Failed,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// It is to run: at the start, by a switch, by a person who asks again.
    Wanted,
    /// It is not to run.
    Unwanted,
    /// A call needs it.
    Needed,
    Opened,
    /// `login`: it wants one. `lasting`: trying again is no use (no such program, bad address).
    Refused {
        why: String,
        login: bool,
        lasting: bool,
    },
    /// The connection broke, or a ping got no answer.
    Lost {
        why: String,
    },
    /// The wait between two tries is over.
    WaitOver,
    /// No call for as long as the configuration says.
    Idle,
    /// It ran for as long as the configuration says.
    Old,
    CallWorked,
    CallFailed,
    /// Calls have been refused long enough.
    BreakOver,
}

/// What the driver does.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    Open,
    /// Ends the connection and what runs behind it.
    Close,
    /// The model gets its tools no more.
    Withdraw,
    /// [`Fact::WaitOver`] after this time.
    Wait(Duration),
    /// [`Fact::BreakOver`] after [`BREAK`].
    Refuse,
}

/// The machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Life {
    pub state: State,
    /// Why it is not ready, for people.
    pub why: String,
    /// Calls are refused for now.
    pub refusing: bool,
    tries: u32,
    was_ready: bool,
    failures: u32,
}

impl Default for Life {
    fn default() -> Self {
        Self { state: State::Off, why: String::new(), refusing: false, tries: 0, was_ready: false, failures: 0 }
    }
}

impl Life {
    /// Takes a fact. `dice` (0 to 1) spreads the tries of many clients.
    pub fn on(&mut self, fact: Fact, dice: f64) -> Vec<Order> {
        use State::{Asleep, Connecting, Failed, NeedsLogin, Off, Ready, Waiting};
        match (&self.state, fact) {
            (Off | Failed | NeedsLogin | Waiting | Asleep, Fact::Wanted) => {
                self.tries = 0;
                self.open()
            }
            (Connecting | Ready, Fact::Wanted) => Vec::new(),
            (Off, Fact::Unwanted) => Vec::new(),
            (_, Fact::Unwanted) => {
                *self = Self::default();
                vec![Order::Withdraw, Order::Close]
            }
            (Asleep | Waiting, Fact::Needed) => self.open(),
            (_, Fact::Needed) => Vec::new(),
            (Connecting, Fact::Opened) => {
                *self = Self { state: Ready, was_ready: true, ..Self::default() };
                Vec::new()
            }
            (Connecting, Fact::Refused { why, login: true, .. }) => {
                (self.state, self.why) = (NeedsLogin, why);
                vec![Order::Withdraw, Order::Close]
            }
            (Connecting, Fact::Refused { why, lasting, .. }) => self.again(why, lasting, dice),
            (Ready, Fact::Lost { why }) => self.again(why, false, dice),
            (Waiting, Fact::WaitOver) => self.open(),
            (Ready, Fact::Idle) => {
                self.state = Asleep;
                vec![Order::Close]
            }
            (Ready, Fact::Old) => {
                self.state = Connecting;
                vec![Order::Close, Order::Open]
            }
            (Ready, Fact::CallWorked) => {
                self.failures = 0;
                Vec::new()
            }
            (Ready, Fact::CallFailed) => {
                self.failures += 1;
                if self.failures < FAILURES || self.refusing {
                    return Vec::new();
                }
                self.refusing = true;
                vec![Order::Refuse]
            }
            (_, Fact::BreakOver) => {
                (self.refusing, self.failures) = (false, 0);
                Vec::new()
            }
            // Late facts of a connection that is not there any more.
            (Off | Connecting | Waiting | Asleep | NeedsLogin | Failed, Fact::Idle | Fact::Old | Fact::Lost { .. })
            | (Off | Ready | Waiting | Asleep | NeedsLogin | Failed, Fact::Opened | Fact::Refused { .. })
            | (Off | Connecting | Ready | Asleep | NeedsLogin | Failed, Fact::WaitOver)
            | (Off | Connecting | Waiting | Asleep | NeedsLogin | Failed, Fact::CallWorked | Fact::CallFailed) => {
                Vec::new()
            }
        }
    }

    fn open(&mut self) -> Vec<Order> {
        self.state = State::Connecting;
        self.tries += 1;
        vec![Order::Open]
    }

    /// Another try later, or none. A server that worked before keeps its tools while it is tried again.
    fn again(&mut self, why: String, lasting: bool, dice: f64) -> Vec<Order> {
        self.why = why;
        let most = if self.was_ready { LATER_TRIES } else { FIRST_TRIES };
        if lasting || self.tries >= most {
            self.state = State::Failed;
            return vec![Order::Withdraw, Order::Close];
        }
        self.state = State::Waiting;
        vec![Order::Close, Order::Wait(backoff(self.tries, dice))]
    }
}

/// 1 s, 2 s, 4 s … at most a minute, each up to a half shorter.
fn backoff(tries: u32, dice: f64) -> Duration {
    let whole = Duration::from_secs(1 << tries.saturating_sub(1).min(10)).min(LONGEST_WAIT);
    whole.mul_f64(1.0 - dice.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Fact {
        Fact::Refused { why: "no".into(), login: false, lasting: false }
    }

    fn run(life: &mut Life, facts: &[Fact]) -> Vec<Order> {
        facts.iter().flat_map(|fact| life.on(fact.clone(), 0.0)).collect()
    }

    fn secs(seconds: u64) -> Order {
        Order::Wait(Duration::from_secs(seconds))
    }

    #[test]
    fn a_first_connection_is_tried_three_times() {
        let mut life = Life::default();
        let orders = run(&mut life, &[Fact::Wanted, refused(), Fact::WaitOver, refused(), Fact::WaitOver, refused()]);
        assert_eq!(
            orders,
            [
                Order::Open,
                Order::Close,
                secs(1),
                Order::Open,
                Order::Close,
                secs(2),
                Order::Open,
                Order::Withdraw,
                Order::Close,
            ]
        );
        assert_eq!((&life.state, life.why.as_str()), (&State::Failed, "no"));
        // A person may ask again.
        assert_eq!(run(&mut life, &[Fact::Wanted]), [Order::Open]);
    }

    #[test]
    fn a_lost_one_keeps_its_tools_and_is_tried_five_times() {
        let mut life = Life::default();
        assert_eq!(run(&mut life, &[Fact::Wanted, Fact::Opened]), [Order::Open]);
        let lost = Fact::Lost { why: "gone".into() };
        let mut orders = run(&mut life, &[lost]);
        for _ in 0..5 {
            orders.extend(run(&mut life, &[Fact::WaitOver, refused()]));
        }
        let waits: Vec<&Order> = orders.iter().filter(|order| matches!(order, Order::Wait(_))).collect();
        assert_eq!(waits, [&secs(1), &secs(1), &secs(2), &secs(4), &secs(8)]);
        assert_eq!(orders.iter().filter(|order| **order == Order::Withdraw).count(), 1);
        assert_eq!(life.state, State::Failed);
    }

    #[test]
    fn some_failures_are_final() {
        let mut life = Life::default();
        let login = Fact::Refused { why: "401".into(), login: true, lasting: false };
        assert_eq!(run(&mut life, &[Fact::Wanted, login]), [Order::Open, Order::Withdraw, Order::Close]);
        assert_eq!(life.state, State::NeedsLogin);
        let mut life = Life::default();
        let no_program = Fact::Refused { why: "no program".into(), login: false, lasting: true };
        run(&mut life, &[Fact::Wanted, no_program]);
        assert_eq!(life.state, State::Failed);
    }

    #[test]
    fn sleep_and_age() {
        let mut life = Life::default();
        run(&mut life, &[Fact::Wanted, Fact::Opened]);
        assert_eq!(run(&mut life, &[Fact::Idle]), [Order::Close]);
        assert_eq!(run(&mut life, &[Fact::Lost { why: String::new() }, Fact::Needed]), [Order::Open]);
        assert_eq!(run(&mut life, &[Fact::Needed, Fact::Opened, Fact::Old]), [Order::Close, Order::Open]);
        assert_eq!(life.state, State::Connecting);
    }

    #[test]
    fn failing_calls_are_refused_for_a_while() {
        let mut life = Life::default();
        run(&mut life, &[Fact::Wanted, Fact::Opened]);
        assert_eq!(run(&mut life, &[Fact::CallFailed, Fact::CallFailed, Fact::CallWorked]), []);
        assert_eq!(run(&mut life, &[Fact::CallFailed, Fact::CallFailed, Fact::CallFailed]), [Order::Refuse]);
        assert!(life.refusing);
        assert_eq!(run(&mut life, &[Fact::CallFailed, Fact::BreakOver]), []);
        assert!(!life.refusing);
    }

    #[test]
    fn off_is_off_from_everywhere() {
        for facts in [&[Fact::Wanted][..], &[Fact::Wanted, Fact::Opened], &[Fact::Wanted, refused()]] {
            let mut life = Life::default();
            run(&mut life, facts);
            assert_eq!(run(&mut life, &[Fact::Unwanted]), [Order::Withdraw, Order::Close]);
            assert_eq!(life, Life::default());
            // What was under way ends without a trace.
            let late = [Fact::Opened, refused(), Fact::WaitOver, Fact::Needed, Fact::Idle, Fact::CallFailed];
            assert_eq!(run(&mut life, &late), []);
            assert_eq!(life, Life::default());
        }
    }

    #[test]
    fn waits_are_spread_and_bounded() {
        assert_eq!(backoff(1, 1.0), Duration::from_millis(500));
        assert_eq!(backoff(30, 0.0), LONGEST_WAIT);
    }
}
