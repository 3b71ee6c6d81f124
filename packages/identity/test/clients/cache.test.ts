import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import { ClientCache } from '../../src/clients/cache.ts'
import type { Client } from '../../src/model/client.ts'

/** A store whose every result waits to be resolved. */
function slowStore() {
  const pending: PromiseWithResolvers<Client | undefined>[] = []
  return {
    pending,
    find(): Promise<Client | undefined> {
      const response = Promise.withResolvers<Client | undefined>()
      pending.push(response)
      return response.promise
    },
  }
}

const named = (name: string) => ({ id: 'web', name }) as Client

test('concurrent lookups of a client cause one query, and the result is cached for two seconds', async () => {
  const [store, clock] = [slowStore(), manualClock()]
  const directory = new ClientCache(store, clock)
  const responses = Promise.all(Array.from({ length: 20 }, () => directory.find('web')))
  store.pending[0]?.resolve(named('Web'))
  assert.equal((await responses).length, 20)
  assert.equal(store.pending.length, 1)
  clock.advance(2000)
  void directory.find('web')
  assert.equal(store.pending.length, 2)
})

test('a client is cached no longer when the clock is set back', async () => {
  const [store, clock] = [slowStore(), manualClock()]
  const directory = new ClientCache(store, clock)
  const before = directory.find('web')
  store.pending[0]?.resolve(named('Before'))
  await before
  clock.advance(-3_600_000)
  const after = directory.find('web')
  assert.equal(store.pending.length, 2)
  store.pending[1]?.resolve(named('After'))
  assert.equal((await after)?.name, 'After')
  void directory.find('web')
  assert.equal(store.pending.length, 2, 'it is cached again')
})

test('a client that changes during its lookup is not cached in its old state', async () => {
  const store = slowStore()
  const directory = new ClientCache(store, manualClock())
  const before = directory.find('web')
  directory.forget('web')
  store.pending[0]?.resolve(named('Before'))
  await before
  const after = directory.find('web')
  store.pending[1]?.resolve(named('After'))
  assert.equal((await after)?.name, 'After')
})

test('failures and unknown clients are not cached', async () => {
  const store = slowStore()
  const directory = new ClientCache(store, manualClock())
  const failing = directory.find('web')
  store.pending[0]?.reject(new Error('the database is unavailable'))
  await assert.rejects(failing)
  const unknown = directory.find('web')
  store.pending[1]?.resolve(undefined)
  assert.equal(await unknown, undefined)
  const known = directory.find('web')
  store.pending[2]?.resolve(named('Web'))
  assert.equal((await known)?.name, 'Web')
})
