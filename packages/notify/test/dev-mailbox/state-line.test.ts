import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stateSteps } from '../../src/dev-mailbox/state-line.ts'
import type { DeliveryState } from '../../src/model/delivery/delivery-state.ts'

const entry = (at: number, state: string, channel: 'email' | 'push' = 'email') => ({
  at,
  what: state,
  channel,
  detail: { state },
})
const line = (state: DeliveryState, ...timeline: ReturnType<typeof entry>[]) =>
  stateSteps(state, { acceptedAt: 1, timeline }, 'email').map((step) =>
    step.standing === 'reached' ? `${step.state} ${step.at}` : `${step.state} ${step.standing}`,
  )

test('a state line has what was reached with its time, and what may still come', () => {
  assert.deepEqual(line('sent', entry(2, 'sent')), [
    'queued 1',
    'sent 2',
    'delivered ahead',
    'opened ahead',
    'clicked ahead',
  ])
})

test('a state that a later one jumped over is implied', () => {
  assert.deepEqual(line('opened', entry(2, 'sent'), entry(5, 'opened')).slice(1, 4), [
    'sent 2',
    'delivered implied',
    'opened 5',
  ])
})

test('a delivery that bounced ends there, after what it had reached', () => {
  const bounced = entry(9, 'bounced')
  assert.deepEqual(line('bounced', entry(2, 'sent'), bounced), ['queued 1', 'sent 2', 'bounced 9'])
  assert.deepEqual(line('bounced', entry(2, 'sent'), entry(3, 'delivered'), bounced), [
    'queued 1',
    'sent 2',
    'delivered 3',
    'bounced 9',
  ])
})

test('the states of other channels, and states that came again, do not count', () => {
  const repeated = [entry(2, 'sent', 'push'), entry(3, 'sent'), entry(4, 'sent')]
  assert.deepEqual(line('sent', ...repeated).slice(0, 2), ['queued 1', 'sent 3'])
})

test('a delivery whose notification is gone still has its state', () => {
  const steps = stateSteps('delivered', undefined, 'email')
  assert.deepEqual(
    steps.map(({ standing }) => standing),
    ['implied', 'implied', 'implied', 'ahead', 'ahead'],
  )
})
