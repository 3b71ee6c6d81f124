import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { type TestContext, test } from 'node:test'
import { manualClock, Problem, silentLog } from '@gatehouse/kit'
import { createCredentialWatch } from '../../src/streams/credential-watch.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

const raw = {} as IncomingMessage
const caller = { subject: 'u1', kind: 'user', scopes: new Set(['read', 'write']), roles: [] } as const

/** Watches one connection while its checks are answered one after the other; returns whether it had ended after each. */
async function runChecks(answers: readonly unknown[]): Promise<boolean[]> {
  const left = [...answers]
  const recheck = async () => {
    const next = left.shift()
    if (next === 'good') return { caller }
    if (next === 'wider') return { caller: { ...caller, scopes: new Set(['read', 'write', 'other']) } }
    if (next === 'narrower') return { caller: { ...caller, scopes: new Set(['read']) } }
    if (next instanceof Problem) return { refusal: next }
    throw next
  }
  const watch = createCredentialWatch({ recheck }, manualClock(), silentLog)
  let ended = false
  const unwatch = watch.watch(raw, caller, () => {
    ended = true
  })
  const states: boolean[] = []
  for (const _ of answers) {
    await watch.checkNow()
    states.push(ended)
  }
  unwatch()
  watch.stop()
  return states
}

const away = new Problem(503, 'away')
const busy = new Problem(429, 'busy')
const revoked = new Problem(401, 'revoked')

for (const [what, answers, ended] of [
  ['at once when its credential is refused', ['good', revoked], [false, true]],
  ['at once when its credential has lost a scope', ['good', 'wider', 'narrower'], [false, false, true]],
  ['at the second check in a row without an answer', [away, away], [false, true]],
  ['at the second check that is answered 429', [busy, busy], [false, true]],
  ['at the second check that fails', [new Error('x'), new Error('x')], [false, true]],
  [
    'not after single checks without an answer',
    [away, 'good', busy, 'good', away],
    [false, false, false, false, false],
  ],
] as const)
  test(`a connection ends ${what}`, async () => {
    assert.deepEqual(await runChecks(answers), ended)
  })

/** A stream opened with an API key, from an address that then sends one unknown key after the other. */
async function braked(context: TestContext) {
  context.mock.timers.enable({ apis: ['setInterval'] })
  let known = true
  const upstream = await startUpstream(context, (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write('data: hello\n\n')
  })
  const made = await setup({
    routes: [{ path: '/live', upstream: 'app' }],
    upstreams: { app: { url: upstream.url } },
    policies: { anonymous: { rpm: 100_000 }, 'bad-credentials': { rpm: 3 } },
    resolveApiKey: async (key) =>
      key === 'good' && known ? { id: 'key-1', owner: 'u7', kind: 'user', scopes: [] } : undefined,
  })
  const url = await listen(context, made)
  const stream = await fetch(`${url}/live`, { headers: { 'x-api-key': 'good' } })
  for (let i = 0; i < 4; i++) await fetch(`${url}/whoami`, { headers: { 'x-api-key': `guess-${i}` } })
  const status = (await fetch(`${url}/whoami`, { headers: { 'x-api-key': 'guess-9' } })).status
  return { ...made, stream, status, revoke: () => (known = false) }
}

test("a revoked credential cannot keep a stream by exceeding its address's limit", async (context) => {
  const { stream, status, revoke, clock } = await braked(context)
  assert.equal(status, 429, 'the brake holds')
  revoke()
  clock.advance(61_000)
  context.mock.timers.tick(5_000)
  assert.equal(await stream.text(), 'data: hello\n\n')
})
