import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AdmissionDecision } from '../../src/admission/admission.ts'
import { createHints } from '../../src/context/hints.ts'
import type { Channel } from '../../src/model/channel.ts'

/** Workers that record which of them were notified. */
function createWorkers() {
  const names: string[] = []
  const workers = ['deliver push', 'deliver email', 'resume', 'schedule', 'outbox'].map((name) => ({
    name,
    resume: () => names.push(name),
    stop: async () => {},
  }))
  return { hints: createHints(workers), names }
}

const createDecision = (...deliveries: ReadonlyArray<readonly [Channel, string]>): AdmissionDecision =>
  ({ deliveries: deliveries.map(([channel, outcome]) => ({ channel, outcome })) }) as unknown as AdmissionDecision

test('a worker is notified once of all new deliveries of its own channel', () => {
  const { hints, names } = createWorkers()
  hints.onAdmitted([createDecision(['email', 'queued'], ['push', 'capped']), createDecision(['email', 'queued'])])
  assert.deepEqual(names, ['deliver email'])
})

test('dropped and deferred deliveries notify no worker', () => {
  const { hints, names } = createWorkers()
  hints.onAdmitted([createDecision(['email', 'capped'], ['push', 'deferred'])])
  assert.deepEqual(names, [])
})

test('deferred, due and changed records notify the worker that handles them', () => {
  const { hints, names } = createWorkers()
  hints.onDeferred()
  hints.onDue()
  hints.onChanged()
  assert.deepEqual(names, ['resume', 'schedule', 'outbox'])
})
