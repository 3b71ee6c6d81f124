import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AdmissionDecision } from '../../src/admission/admission.ts'
import { Agendas } from '../../src/agenda/agendas.ts'
import { createHints } from '../../src/context/hints.ts'
import type { Channel } from '../../src/model/channel.ts'
import { newId } from '../../src/model/id.ts'
import { workKinds } from '../../src/model/work/work-kind.ts'

/** Workers that record which of them were notified, in a process that owns the first of two buckets. */
function createWorkers() {
  const agendas = new Agendas({ count: 2, sweepMs: 1_000, elapsed: () => 0 })
  agendas.own([0])
  for (const kind of workKinds) agendas.of(kind).visited([0])
  const names: string[] = []
  for (const kind of workKinds) agendas.attach(kind, { resume: () => names.push(kind) })
  const shared: unknown[] = []
  agendas.shareWith((...hint) => shared.push(hint))
  return { agendas, hints: createHints(agendas), names, shared }
}

type Planned = readonly [channel: Channel, outcome: string, dueAt?: number]

const createDecision = (bucket: number, ...deliveries: readonly Planned[]): AdmissionDecision =>
  ({
    notification: { id: newId(bucket), item: { actor: 'Ann', flushAt: 300 } },
    deliveries: deliveries.map(([channel, outcome, resumeAt]) => ({
      channel,
      outcome,
      plan: { kind: outcome === 'deferred' ? 'defer' : 'send', resumeAt },
    })),
  }) as unknown as AdmissionDecision

test('a worker is notified once of all new deliveries of its own channel', () => {
  const { hints, names, agendas } = createWorkers()
  hints.onAdmitted([createDecision(0, ['email', 'queued'], ['push', 'capped']), createDecision(0, ['email', 'queued'])])
  assert.deepEqual(names, ['deliver email'])
  assert.deepEqual(agendas.of('deliver email').take(0), [0])
  assert.deepEqual(agendas.of('deliver push').take(0), [])
})

test('dropped deliveries notify no worker', () => {
  const { hints, names } = createWorkers()
  hints.onAdmitted([createDecision(0, ['email', 'capped'], ['push', 'no_recipient'])])
  assert.deepEqual(names, [])
})

test('deferred and aggregated deliveries are on the agenda for the time they are due', () => {
  const { hints, names, agendas } = createWorkers()
  hints.onAdmitted([createDecision(0, ['email', 'deferred', 200])])
  hints.onAdmitted([createDecision(0, ['push', 'aggregated'])])
  assert.deepEqual(names, [])
  assert.deepEqual(agendas.of('resume').take(199), [])
  assert.deepEqual(agendas.of('resume').take(200), [0])
  agendas.of('resume').visited([0])
  assert.deepEqual(agendas.of('resume').take(300), [])
})

test('deferred, due, parked and changed records notify the worker that handles them', () => {
  const { hints, names } = createWorkers()
  hints.onDeferred()
  hints.onDue()
  hints.onParked([0])
  hints.onChanged()
  assert.deepEqual(names, ['resume', 'schedule', 'release', 'outbox'])
})

test('what is in a bucket of another process is sent to it', () => {
  const { hints, names, shared } = createWorkers()
  hints.onAdmitted([createDecision(1, ['email', 'queued'], ['sms', 'deferred', 200])])
  hints.onDeferred()
  assert.deepEqual(shared, [
    ['deliver email', [1], undefined],
    ['resume', [1], 200],
    ['resume', [1], undefined],
  ])
  assert.deepEqual(names, ['resume'])
})
