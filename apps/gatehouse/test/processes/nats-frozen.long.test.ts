import assert from 'node:assert/strict'
import { startNats, testWithAll } from '@gatehouse/testing'
import { complete, startSupervised, workersOf } from '../support/processes.ts'

testWithAll(
  ['postgresql', 'nats-server'],
  'a worker that could not start while NATS stood still is started again',
  async (t) => {
    const nats = await startNats()
    t.after(() => nats.stop())
    const program = await startSupervised(t, { processes: 3, env: { NATS_URL: nats.url } })
    const [victim = assert.fail('no worker')] = workersOf(program)
    nats.process.kill('SIGSTOP')
    process.kill(victim, 'SIGKILL')
    await program.printed("NATS at NATS_URL can't be reached")
    nats.process.kill('SIGCONT')
    await complete(program, 3)
    assert.equal((await program.stop()).code, 0)
  },
)
