import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import { ClientJwks } from '../../src/clients/jwks.ts'

/** A client's JWK Set server: it sends `state` once `barrier.opened` has resolved. */
async function setup(t: TestContext) {
  const state = { status: 200, body: JSON.stringify({ keys: [{ kid: 'one' }] }), requests: 0 }
  const { promise, resolve } = Promise.withResolvers<void>()
  resolve()
  const barrier = { opened: promise as Promise<void> }
  const server = createServer(async (_, response) => {
    state.requests += 1
    await barrier.opened
    response.writeHead(state.status).end(state.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const clock = manualClock()
  const keys = new ClientJwks({ clock, loopback: true })
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`
  return { state, barrier, clock, keys, address }
}

const unreachable = /cannot be fetched/

test('concurrent requests for a JWK Set cause one fetch', async (t) => {
  const { state, barrier, keys, address } = await setup(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  barrier.opened = promise
  const waiting = Array.from({ length: 50 }, () => keys.get(address))
  resolve()
  for (const set of await Promise.all(waiting)) assert.equal(set.keys[0]?.kid, 'one')
  assert.equal(state.requests, 1)
})

test('a failed fetch is retried after thirty seconds, not earlier', async (t) => {
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

test('a missing key causes at most one fetch in thirty seconds, which finds a new key', async (t) => {
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

test('keys older than five minutes are not used while their URL fails', async (t) => {
  const { state, clock, keys, address } = await setup(t)
  await keys.get(address)
  state.status = 500
  clock.advance(5 * 60_000 - 1)
  assert.equal((await keys.get(address)).keys.length, 1)
  clock.advance(1)
  await assert.rejects(keys.get(address), unreachable)
})

test('keys are fetched again once the clock was set back by more than their age', async (t) => {
  const { state, clock, keys, address } = await setup(t)
  await keys.get(address)
  state.body = JSON.stringify({ keys: [{ kid: 'two' }] })
  clock.advance(-29_999)
  assert.equal((await keys.refresh(address)).keys[0]?.kid, 'one')
  clock.advance(-1)
  assert.equal((await keys.refresh(address)).keys[0]?.kid, 'two')
  state.body = JSON.stringify({ keys: [{ kid: 'three' }] })
  clock.advance(-5 * 60_000 + 1)
  assert.equal((await keys.get(address)).keys[0]?.kid, 'two')
  clock.advance(-1)
  assert.equal((await keys.get(address)).keys[0]?.kid, 'three')
  assert.equal(state.requests, 3)
})

for (const body of ['', '[]', 'null', '{"keys":{}}', JSON.stringify({ keys: Array(65).fill({}) }), '<html>']) {
  test(`a response of ${body.slice(0, 20) || 'nothing'} is not a JWK Set`, async (t) => {
    const { state, keys, address } = await setup(t)
    state.body = body
    await assert.rejects(keys.get(address), unreachable)
  })
}
