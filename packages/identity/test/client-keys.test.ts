import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import { ClientJwks } from '../src/clients/jwks.ts'

/** The address of a client's keys, which answers as told, once it is let. */
async function setup(t: TestContext) {
  const state = { status: 200, body: JSON.stringify({ keys: [{ kid: 'one' }] }), requests: 0 }
  const gate = Promise.withResolvers<void>()
  gate.resolve()
  const held = { gate: gate.promise as Promise<void> }
  const server = createServer(async (_, response) => {
    state.requests += 1
    await held.gate
    response.writeHead(state.status).end(state.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const clock = manualClock()
  const keys = new ClientJwks({ clock, loopback: true })
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`
  return { state, held, clock, keys, address }
}

const unreachable = /can't be fetched/

test('requests that arrive together cause one fetch', async (t) => {
  const { state, held, keys, address } = await setup(t)
  const gate = Promise.withResolvers<void>()
  held.gate = gate.promise
  const waiting = Array.from({ length: 50 }, () => keys.get(address))
  gate.resolve()
  for (const set of await Promise.all(waiting)) assert.equal(set.keys[0]?.kid, 'one')
  assert.equal(state.requests, 1)
})

test('an address that fails is asked again after thirty seconds, not before', async (t) => {
  const { state, clock, keys, address } = await setup(t)
  state.status = 503
  for (let n = 0; n < 20; n++) await assert.rejects(keys.get(address), unreachable)
  clock.advance(29_999)
  await assert.rejects(keys.refresh(address), unreachable)
  assert.equal(state.requests, 1)
  state.status = 200
  clock.advance(1)
  assert.equal((await keys.get(address)).keys.length, 1)
})

test('keys that are missing cause one fetch in thirty seconds, and a new one is found by it', async (t) => {
  const { state, clock, keys, address } = await setup(t)
  await keys.get(address)
  state.body = JSON.stringify({ keys: [{ kid: 'one' }, { kid: 'two' }] })
  for (let n = 0; n < 20; n++) assert.equal((await keys.refresh(address)).keys.length, 1)
  assert.equal(state.requests, 1)
  clock.advance(30_000)
  assert.equal((await keys.refresh(address)).keys.length, 2)
  for (let n = 0; n < 20; n++) await keys.refresh(address)
  assert.equal(state.requests, 2)
})

test('keys older than five minutes are not used while their address fails', async (t) => {
  const { state, clock, keys, address } = await setup(t)
  await keys.get(address)
  state.status = 500
  clock.advance(5 * 60_000 - 1)
  assert.equal((await keys.get(address)).keys.length, 1)
  clock.advance(1)
  await assert.rejects(keys.get(address), unreachable)
})

for (const body of ['', '[]', 'null', '{"keys":{}}', JSON.stringify({ keys: Array(65).fill({}) }), '<html>']) {
  test(`an answer of ${body.slice(0, 20) || 'nothing'} is no set of keys`, async (t) => {
    const { state, keys, address } = await setup(t)
    state.body = body
    await assert.rejects(keys.get(address), unreachable)
  })
}
