import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import { ClientCache } from '../src/clients/cache.ts'
import type { Client } from '../src/model/client.ts'

/** A store whose every answer waits to be told. */
function slowStore() {
  const asked: PromiseWithResolvers<Client | undefined>[] = []
  return {
    asked,
    find(): Promise<Client | undefined> {
      const answer = Promise.withResolvers<Client | undefined>()
      asked.push(answer)
      return answer.promise
    },
  }
}

const named = (name: string) => ({ id: 'web', name }) as Client

test('many who ask for a client at once ask the store once, and again after two seconds', async () => {
  const [store, clock] = [slowStore(), manualClock()]
  const directory = new ClientCache(store, clock)
  const answers = Promise.all(Array.from({ length: 20 }, () => directory.find('web')))
  store.asked[0]?.resolve(named('Web'))
  assert.equal((await answers).length, 20)
  assert.equal(store.asked.length, 1)
  clock.advance(2000)
  void directory.find('web')
  assert.equal(store.asked.length, 2)
})

test('a client that changes while it is looked up is not remembered as it was', async () => {
  const store = slowStore()
  const directory = new ClientCache(store, manualClock())
  const before = directory.find('web')
  directory.forget('web')
  store.asked[0]?.resolve(named('Before'))
  await before
  const after = directory.find('web')
  store.asked[1]?.resolve(named('After'))
  assert.equal((await after)?.name, 'After')
})

test('neither a failure nor an unknown client is remembered', async () => {
  const store = slowStore()
  const directory = new ClientCache(store, manualClock())
  const failing = directory.find('web')
  store.asked[0]?.reject(new Error('the database is away'))
  await assert.rejects(failing)
  const unknown = directory.find('web')
  store.asked[1]?.resolve(undefined)
  assert.equal(await unknown, undefined)
  const known = directory.find('web')
  store.asked[2]?.resolve(named('Web'))
  assert.equal((await known)?.name, 'Web')
})
