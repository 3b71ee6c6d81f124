import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Reach } from '../../src/nats/reach.ts'

/** A server that answers or not, and how to let seconds pass. */
function setup(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const server = { answers: true }
  const pending: Array<() => void> = []
  const flush = () => (server.answers ? Promise.resolve() : new Promise<void>((resolve) => pending.push(resolve)))
  const reach = new Reach({ flush })
  t.after(() => reach.stop())
  const pass = async (seconds: number) => {
    for (let n = 0; n < seconds; n++) {
      t.mock.timers.tick(1_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const answer = () => {
    server.answers = true
    for (const resolve of pending.splice(0)) resolve()
  }
  return { server, reach, pass, answer }
}

test('a server is reached for certain after twenty answers, also where it was lost before', async (t) => {
  const { server, reach, pass, answer } = setup(t)
  await pass(19)
  assert.equal(reach.state, 'unsure')
  await pass(1)
  assert.equal(reach.state, 'reached')
  server.answers = false
  await pass(9)
  assert.notEqual(reach.state, 'lost')
  await pass(1)
  assert.equal(reach.state, 'lost')
  answer()
  await pass(1)
  assert.equal(reach.state, 'unsure')
  await pass(20)
  assert.equal(reach.state, 'reached')
})

test('a question that waits for its answer is not asked again', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let requests = 0
  const reach = new Reach({
    flush() {
      requests++
      return new Promise(() => {})
    },
  })
  t.after(() => reach.stop())
  t.mock.timers.tick(5_000)
  assert.equal(requests, 1)
})
