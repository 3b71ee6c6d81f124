import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Slots } from '../../src/memory/slots.ts'

const maxSlots = 3_000
const step = fc.record({ id: fc.integer({ min: 0, max: 6_000 }), times: fc.integer({ min: 1, max: 400 }) })

test('ids are found in their slots however many were added and removed', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const slots = new Slots(maxSlots)
      const known = new Map<string, number>()
      for (const { id, times } of steps) {
        for (let i = id; i < id + times; i++) {
          const name = `id-${i % 4_000}`
          const slot = known.get(name)
          if (slot === undefined) {
            const added = slots.add(name)
            assert.equal(added === undefined, known.size === maxSlots)
            if (added !== undefined) known.set(name, added)
          } else {
            slots.remove(slot)
            slots.remove(slot)
            known.delete(name)
          }
        }
        assert.equal(slots.size, known.size)
        assert.equal(new Set(known.values()).size, known.size)
        for (let i = 0; i < 4_000; i++) assert.equal(slots.find(`id-${i}`), known.get(`id-${i}`))
        for (const [name, slot] of known) assert.equal(slots.idOf(slot), name)
      }
    }),
    { numRuns: 40 },
  )
})
