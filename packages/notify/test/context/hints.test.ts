import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AdmissionDecision } from '../../src/admission/admission.ts'
import { createHints } from '../../src/context/hints.ts'
import type { Channel } from '../../src/model/channel.ts'

/** Workers that tell which of them were woken. */
function woken() {
  const names: string[] = []
  const workers = ['deliver push', 'deliver email', 'wake', 'schedule', 'outbox'].map((name) => ({
    name,
    wake: () => names.push(name),
    stop: async () => {},
  }))
  return { hints: createHints(workers), names }
}

const decided = (...deliveries: ReadonlyArray<readonly [Channel, string]>): AdmissionDecision =>
  ({ deliveries: deliveries.map(([channel, outcome]) => ({ channel, outcome })) }) as unknown as AdmissionDecision

test('a worker is notified once of all new deliveries of its own channel', () => {
  const { hints, names } = woken()
  hints.onAdmitted([decided(['email', 'queued'], ['push', 'capped']), decided(['email', 'queued'])])
  assert.deepEqual(names, ['deliver email'])
})

test('dropped and deferred deliveries notify no worker', () => {
  const { hints, names } = woken()
  hints.onAdmitted([decided(['email', 'capped'], ['push', 'deferred'])])
  assert.deepEqual(names, [])
})

test('deferred, due and changed records notify the worker that handles them', () => {
  const { hints, names } = woken()
  hints.onDeferred()
  hints.onDue()
  hints.onChanged()
  assert.deepEqual(names, ['wake', 'schedule', 'outbox'])
})
