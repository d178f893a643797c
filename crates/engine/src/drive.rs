//! The loop: steps are begun when everything they wait for is done, and what takes time is waited for together.
//!
//! Steps belong to one [`Steps`], which only the loop calls, so it needs no locks. A step hands out jobs: futures that
//! own what they need. A job that is ready at once is completed at once, so without slow providers everything happens
//! in the order of the graph; with slow ones as many jobs run together as allowed.
//!
//! A step waits for nothing but calls of provider functions that it evaluates. Jobs go on meanwhile; what they report is taken
//! after the step.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};

/// A job that has begun.
type Job<'j, T> = Pin<Box<dyn Future<Output = T> + 'j>>;

/// A job that waits: what it needs, without the room that it takes while it runs. Many may wait at the same time.
type Waiting<'j, T> = Box<dyn FnOnce() -> Job<'j, T> + 'j>;

/// Jobs that a step hands out.
pub(crate) struct Jobs<'j, T> {
    new: Vec<(Option<u32>, Waiting<'j, T>)>,
    more: Vec<Waiting<'j, T>>,
    aside: Vec<Job<'j, T>>,
}

impl<'j, T> Jobs<'j, T> {
    fn none() -> Jobs<'j, T> {
        Jobs { new: Vec::new(), more: Vec::new(), aside: Vec::new() }
    }
    /// Hands out a job.
    pub(crate) fn push<F: Future<Output = T> + 'j>(&mut self, job: impl FnOnce() -> F + 'j) {
        self.new.push((None, Box::new(move || Box::pin(job()))));
    }
    /// Hands out a job that continues another one and replaces it: it begins before any other, and also after a stop,
    /// so that as few objects as possible are half done.
    pub(crate) fn push_follow_up<F: Future<Output = T> + 'j>(&mut self, job: impl FnOnce() -> F + 'j) {
        self.more.push(Box::new(move || Box::pin(job())));
    }
    /// Hands out a background job: it is dropped when all other jobs are done, and is not a running job.
    pub(crate) fn push_aside(&mut self, job: impl Future<Output = T> + 'j) {
        self.aside.push(Box::pin(job));
    }
    /// Hands out a job; [`Steps::starting`] is asked with the number when it really begins.
    pub(crate) fn push_numbered<F: Future<Output = T> + 'j>(&mut self, number: u32, job: impl FnOnce() -> F + 'j) {
        self.new.push((Some(number), Box::new(move || Box::pin(job()))));
    }
}

/// The steps of a graph.
pub(crate) trait Steps<'j> {
    /// Reports of jobs.
    type Answer;
    /// Begins a step, everything it waits for being done.
    async fn begin(&mut self, step: u32, jobs: &mut Jobs<'j, Self::Answer>);
    /// A job with a number begins now. Whether it may; if not, nothing else may begin either.
    fn starting(&mut self, _number: u32) -> bool {
        true
    }
    /// Takes what a job of a step reports; may hand out more jobs.
    async fn answer(&mut self, step: u32, answer: Self::Answer, jobs: &mut Jobs<'j, Self::Answer>);
    /// All jobs of a step have reported. Whether it went well: if not, steps that wait for it are skipped.
    fn end(&mut self, step: u32) -> bool;
    /// Whether a step begins although one that it waits for failed.
    fn begins_anyway(&self, _step: u32) -> bool {
        false
    }
    /// Everything begins, or begins again: jobs aside may be handed out.
    fn resume(&mut self, _jobs: &mut Jobs<'j, Self::Answer>) {}
    /// Takes what a job aside reports; may hand out more of them.
    fn aside(&mut self, _answer: Self::Answer, _jobs: &mut Jobs<'j, Self::Answer>) {}
    /// Nothing is left to do but to wait.
    fn idle(&mut self) {}
    /// No more jobs are to be begun.
    fn stopped(&self) -> bool {
        false
    }
}

/// A graph: for each step the steps it waits for.
pub(crate) trait Order {
    /// Number of steps.
    fn len(&self) -> usize;
    /// Dependencies of a step, possibly with duplicates.
    fn waits_for(&self, step: u32) -> &[u32];
}

impl Order for yuba_plan::ExecGraph {
    fn len(&self) -> usize {
        self.ops.len()
    }
    fn waits_for(&self, step: u32) -> &[u32] {
        yuba_plan::ExecGraph::waits_for(self, step)
    }
}

impl Order for [Vec<u32>] {
    fn len(&self) -> usize {
        <[Vec<u32>]>::len(self)
    }
    fn waits_for(&self, step: u32) -> &[u32] {
        &self[step as usize]
    }
}

/// Outcomes of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It was not reached: it waits for itself, or the run was stopped.
    NotReached,
    /// It went well.
    Done,
    /// It failed, or waits for one that failed.
    Failed,
}

struct Loop<'g, 'j, S: Steps<'j>, O: Order + ?Sized> {
    steps: &'g mut S,
    order: &'g O,
    waiters: Vec<Vec<u32>>,
    waiting: Vec<u32>,
    blocked: Vec<bool>,
    open_jobs: Vec<u32>,
    ready: VecDeque<u32>,
    queue: VecDeque<(u32, Option<u32>, Waiting<'j, S::Answer>)>,
    /// Jobs that go on with what was begun.
    more: VecDeque<(u32, Waiting<'j, S::Answer>)>,
    aside: FuturesUnordered<Job<'j, S::Answer>>,
    endings: Vec<Ending>,
}

/// Does all steps of a graph. Steps that wait for a failed one are not begun.
pub(crate) async fn drive<'j, S: Steps<'j>, O: Order + ?Sized>(
    steps: &mut S,
    order: &O,
    parallelism: usize,
) -> Vec<Ending> {
    let count = order.len();
    let mut waiters = vec![Vec::new(); count];
    let mut waiting = vec![0_u32; count];
    for step in 0..count as u32 {
        for other in order.waits_for(step) {
            waiters[*other as usize].push(step);
            waiting[step as usize] += 1;
        }
    }
    let ready = (0..count as u32).filter(|step| waiting[*step as usize] == 0).collect();
    let mut run = Loop {
        steps,
        order,
        waiters,
        waiting,
        blocked: vec![false; count],
        open_jobs: vec![0; count],
        ready,
        queue: VecDeque::new(),
        more: VecDeque::new(),
        aside: FuturesUnordered::new(),
        endings: vec![Ending::NotReached; count],
    };
    let mut running = Running { jobs: FuturesUnordered::new(), reported: VecDeque::new() };
    run.aside_jobs(|steps, jobs| steps.resume(jobs));
    loop {
        while let Some(step) = run.ready.pop_front() {
            running.beside(run.begin(step)).await;
        }
        while running.len() < parallelism.max(1) {
            let Some((step, number, job)) = run.next_job() else { break };
            if number.is_some_and(|number| !run.steps.starting(number)) {
                break;
            }
            let mut job = job();
            let mut context = Context::from_waker(Waker::noop());
            match job.as_mut().poll(&mut context) {
                Poll::Ready(answer) => running.beside(run.answer(step, answer)).await,
                Poll::Pending => running.jobs.push(Box::pin(async move { (step, job.await) })),
            }
            if !run.ready.is_empty() {
                break;
            }
        }
        if !run.ready.is_empty() || (run.has_job() && running.len() < parallelism.max(1)) {
            continue;
        }
        // Finished jobs are processed before the loop waits.
        if let Some((step, answer)) = running.reported() {
            running.beside(run.answer(step, answer)).await;
            continue;
        }
        run.steps.idle();
        if running.jobs.is_empty() {
            break;
        }
        let next = poll_fn(|task| {
            if let Poll::Ready(Some((step, answer))) = running.jobs.poll_next_unpin(task) {
                return Poll::Ready((Some(step), answer));
            }
            match run.aside.poll_next_unpin(task) {
                Poll::Ready(Some(answer)) => Poll::Ready((None, answer)),
                _ => Poll::Pending,
            }
        });
        match next.await {
            (Some(step), answer) => running.beside(run.answer(step, answer)).await,
            (None, answer) => run.aside_jobs(|steps, jobs| steps.aside(answer, jobs)),
        }
    }
    run.endings
}

/// Jobs that have begun, each with its step.
struct Running<'j, T> {
    jobs: FuturesUnordered<Job<'j, (u32, T)>>,
    /// Reports of jobs while a step waited.
    reported: VecDeque<(u32, T)>,
}

impl<T> Running<'_, T> {
    fn len(&self) -> usize {
        self.jobs.len() + self.reported.len()
    }

    /// Reports of a job so far.
    fn reported(&mut self) -> Option<(u32, T)> {
        self.reported.pop_front().or_else(|| self.jobs.next().now_or_never().flatten())
    }

    /// Does a step. Where it waits, jobs go on.
    async fn beside(&mut self, step: impl Future<Output = ()>) {
        let mut step = pin!(step);
        poll_fn(|task| {
            if step.as_mut().poll(task).is_ready() {
                return Poll::Ready(());
            }
            while let Poll::Ready(Some(report)) = self.jobs.poll_next_unpin(task) {
                self.reported.push_back(report);
            }
            Poll::Pending
        })
        .await;
    }
}

impl<'j, S: Steps<'j>, O: Order + ?Sized> Loop<'_, 'j, S, O> {
    fn has_job(&self) -> bool {
        !self.more.is_empty() || (!self.queue.is_empty() && !self.steps.stopped())
    }

    fn next_job(&mut self) -> Option<(u32, Option<u32>, Waiting<'j, S::Answer>)> {
        match self.more.pop_front() {
            Some((step, job)) => Some((step, None, job)),
            None if self.steps.stopped() => None,
            None => self.queue.pop_front(),
        }
    }

    fn aside_jobs(&mut self, go: impl FnOnce(&mut S, &mut Jobs<'j, S::Answer>)) {
        let mut jobs = Jobs::none();
        go(self.steps, &mut jobs);
        self.aside.extend(jobs.aside);
    }

    async fn begin(&mut self, step: u32) {
        if self.blocked[step as usize] && !self.steps.begins_anyway(step) {
            self.finish(step, Ending::Failed);
            return;
        }
        if self.steps.stopped() {
            return;
        }
        let mut jobs = Jobs::none();
        self.steps.begin(step, &mut jobs).await;
        self.take(step, jobs);
        self.end_if_done(step);
    }

    fn take(&mut self, step: u32, jobs: Jobs<'j, S::Answer>) {
        self.open_jobs[step as usize] += (jobs.new.len() + jobs.more.len()) as u32;
        self.aside.extend(jobs.aside);
        self.more.extend(jobs.more.into_iter().map(|job| (step, job)));
        self.queue.extend(jobs.new.into_iter().map(|(number, job)| (step, number, job)));
    }

    async fn answer(&mut self, step: u32, answer: S::Answer) {
        self.open_jobs[step as usize] -= 1;
        let mut jobs = Jobs::none();
        self.steps.answer(step, answer, &mut jobs).await;
        self.take(step, jobs);
        self.end_if_done(step);
    }

    fn end_if_done(&mut self, step: u32) {
        if self.open_jobs[step as usize] == 0 {
            let ending = if self.steps.end(step) { Ending::Done } else { Ending::Failed };
            self.finish(step, ending);
        }
    }

    fn finish(&mut self, step: u32, ending: Ending) {
        self.endings[step as usize] = ending;
        for waiter in std::mem::take(&mut self.waiters[step as usize]) {
            self.blocked[waiter as usize] |= ending == Ending::Failed;
            self.waiting[waiter as usize] -= 1;
            if self.waiting[waiter as usize] == 0 {
                self.ready.push_back(waiter);
            }
        }
        debug_assert!(self.order.len() == self.endings.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Becomes ready after this number of polls.
    struct Later(u32);

    impl Future for Later {
        type Output = ();
        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
            if self.0 == 0 {
                return Poll::Ready(());
            }
            self.0 -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    }

    struct Record {
        log: String,
        delays: Vec<u32>,
        fails: Option<u32>,
        stop_after: usize,
    }

    impl<'j> Steps<'j> for Record {
        type Answer = ();
        async fn begin(&mut self, step: u32, jobs: &mut Jobs<'j, ()>) {
            self.log += &format!("+{step} ");
            let delay = self.delays[step as usize];
            jobs.push(move || Later(delay));
        }
        async fn answer(&mut self, step: u32, (): (), _: &mut Jobs<'j, ()>) {
            self.log += &format!("={step} ");
        }
        fn end(&mut self, step: u32) -> bool {
            self.fails != Some(step)
        }
        fn idle(&mut self) {
            self.log += "~ ";
        }
        fn stopped(&self) -> bool {
            self.log.matches('=').count() >= self.stop_after
        }
    }

    fn check(edges: &[&[u32]], delays: &[u32], fails: Option<u32>, stop_after: usize, expect: &Expect) {
        let edges: Vec<Vec<u32>> = edges.iter().map(|edges| edges.to_vec()).collect();
        let mut record = Record { log: String::new(), delays: delays.to_vec(), fails, stop_after };
        let endings = {
            let mut run = Box::pin(drive(&mut record, edges.as_slice(), 2));
            let mut context = Context::from_waker(Waker::noop());
            loop {
                if let Poll::Ready(endings) = run.as_mut().poll(&mut context) {
                    break endings;
                }
            }
        };
        expect.assert_eq(&format!("{}| {endings:?}", record.log));
    }

    #[test]
    fn steps_wait_for_each_other() {
        let diamond: [&[u32]; 4] = [&[], &[0], &[0], &[1, 2]];
        check(&diamond, &[0; 4], None, 9, &expect!["+0 =0 +1 +2 =1 =2 +3 =3 ~ | [Done, Done, Done, Done]"]);
        check(&diamond, &[1, 3, 1, 0], None, 9, &expect!["+0 =0 +1 +2 =2 ~ =1 +3 =3 ~ | [Done, Done, Done, Done]"]);
        check(&diamond, &[0; 4], Some(1), 9, &expect!["+0 =0 +1 +2 =1 =2 ~ | [Done, Failed, Done, Failed]"]);
        check(&[&[], &[2], &[1]], &[0; 3], None, 9, &expect!["+0 =0 ~ | [Done, NotReached, NotReached]"]);
    }

    #[test]
    fn ready_responses_are_processed_before_waiting() {
        check(
            &[&[], &[], &[], &[]],
            &[1, 1, 1, 1],
            None,
            9,
            &expect!["+0 +1 +2 +3 =0 =1 =2 =3 ~ | [Done, Done, Done, Done]"],
        );
    }

    /// Objects that are created at once and then need more work, as objects with provisioners do.
    struct Careful {
        in_care: usize,
        most: usize,
        cared_for: usize,
        made: usize,
        stop_after: usize,
    }

    impl<'j> Steps<'j> for Careful {
        type Answer = bool;
        async fn begin(&mut self, _: u32, jobs: &mut Jobs<'j, bool>) {
            jobs.push(|| async { false });
        }
        async fn answer(&mut self, _: u32, is_cared_for: bool, jobs: &mut Jobs<'j, bool>) {
            if is_cared_for {
                (self.in_care, self.cared_for) = (self.in_care - 1, self.cared_for + 1);
                return;
            }
            self.made += 1;
            self.in_care += 1;
            self.most = self.most.max(self.in_care);
            jobs.push_follow_up(|| async {
                Later(3).await;
                true
            });
        }
        fn end(&mut self, _: u32) -> bool {
            true
        }
        fn stopped(&self) -> bool {
            self.made >= self.stop_after
        }
    }

    #[test]
    fn continued_jobs_are_running_and_finish() {
        for (stop_after, made) in [(99, 20), (6, 6)] {
            let mut steps = Careful { in_care: 0, most: 0, cared_for: 0, made: 0, stop_after };
            let edges = vec![Vec::new(); 20];
            let mut run = Box::pin(drive(&mut steps, edges.as_slice(), 4));
            let mut context = Context::from_waker(Waker::noop());
            while run.as_mut().poll(&mut context).is_pending() {}
            drop(run);
            assert_eq!((steps.most, steps.made, steps.cared_for, steps.in_care), (4, made, made, 0));
        }
    }

    /// The last step waits in the middle; the job of the first goes on meanwhile.
    struct Pausing(std::rc::Rc<std::cell::RefCell<String>>);

    impl<'j> Steps<'j> for Pausing {
        type Answer = ();
        async fn begin(&mut self, step: u32, jobs: &mut Jobs<'j, ()>) {
            *self.0.borrow_mut() += &format!("+{step} ");
            let log = self.0.clone();
            match step {
                0 => jobs.push(move || async move {
                    Later(2).await;
                    *log.borrow_mut() += "job ";
                }),
                1 => jobs.push(|| Later(0)),
                _ => {
                    Later(5).await;
                    *log.borrow_mut() += "on ";
                }
            }
        }
        async fn answer(&mut self, step: u32, (): (), _: &mut Jobs<'j, ()>) {
            *self.0.borrow_mut() += &format!("={step} ");
        }
        fn end(&mut self, _: u32) -> bool {
            true
        }
    }

    #[test]
    fn jobs_go_on_while_a_step_waits_and_are_answered_after_it() {
        let log = std::rc::Rc::default();
        let mut steps = Pausing(std::rc::Rc::clone(&log));
        let edges = [Vec::new(), Vec::new(), vec![1]];
        let mut run = Box::pin(drive(&mut steps, edges.as_slice(), 2));
        let mut context = Context::from_waker(Waker::noop());
        while run.as_mut().poll(&mut context).is_pending() {}
        expect!["+0 +1 =1 +2 job on =0 "].assert_eq(&log.borrow());
    }

    #[test]
    fn nothing_begins_after_a_stop() {
        let chain: [&[u32]; 3] = [&[], &[0], &[1]];
        check(&chain, &[0; 3], None, 1, &expect!["+0 =0 ~ | [Done, NotReached, NotReached]"]);
    }
}
