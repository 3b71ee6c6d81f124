import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type DeliveryState,
  deliveryReports,
  deliveryStates,
  nextState,
} from '../../src/model/delivery/delivery-state.ts'

test('no order of reports lowers a state, and bounced is final', () => {
  const rank = (state: DeliveryState) => deliveryStates.indexOf(state)
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...deliveryReports)), (reports) => {
      let state: DeliveryState = 'queued'
      for (const report of reports) {
        const next = nextState(state, report)
        if (next) assert.ok(rank(next) > rank(state))
        if (state === 'bounced') assert.equal(next, undefined)
        state = next ?? state
      }
      const last = reports.includes('bounced') || reports.includes('complained')
      assert.equal(state === 'bounced', last)
    }),
  )
})
