import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock, silentLog } from '@gatehouse/kit'
import { ConnectionList } from '../../src/connections/list.ts'
import type { Connection, ConnectionSettings } from '../../src/model/connection.ts'

function connection(id: string, settings: Partial<ConnectionSettings> = {}): Connection {
  const base = { kind: 'oidc', client_id: 'c', name: id } as const
  return { id, settings: { ...base, ...settings }, secretSealed: undefined, createdAt: 0, updatedAt: 0 }
}

test('pages offer enabled connections that are not hidden, and those that only link to link', async () => {
  const all = [
    connection('a'),
    connection('disabled', { enabled: false }),
    connection('hidden', { hidden: true, domains: ['corp.example'] }),
    connection('links', { link_only: true, domains: ['vault.example'] }),
  ]
  const list = new ConnectionList({ list: async () => all }, manualClock(), silentLog)
  await list.refresh()
  const ids = (offered: readonly { readonly id: string }[]) => offered.map(({ id }) => id)
  assert.deepEqual(ids(list.listForSignIn()), ['a'])
  assert.deepEqual(ids(list.listForLinking()), ['a', 'links'])
  assert.equal(list.findByDomain('corp.example')?.id, 'hidden')
  assert.equal(list.findByDomain('vault.example'), undefined)
  assert.deepEqual([list.hasHomes(), await list.hasRequired()], [true, false])
})

test('the connection of an organization is found while it may sign in, and required only then', async () => {
  const settings = { organization: 'acme', required: true }
  const clock = manualClock()
  let all = [connection('own', settings)]
  const list = new ConnectionList({ list: async () => all }, clock, silentLog)
  await list.refresh()
  const seen = async () => [list.findByOrganization('acme')?.id, list.hasHomes(), await list.hasRequired()]
  assert.deepEqual(await seen(), ['own', true, true])
  assert.equal(list.findByOrganization('beta'), undefined)
  all = [connection('own', { ...settings, enabled: false })]
  await list.refresh()
  assert.deepEqual(await seen(), [undefined, false, false])
})

test('what is required is decided by no old list, and by none that could not be read', async () => {
  const clock = manualClock()
  let all: () => Promise<Connection[]> = async () => []
  const list = new ConnectionList({ list: () => all() }, clock, silentLog)
  await list.refresh()
  assert.equal(await list.hasRequired(), false)
  clock.advance(5_000)
  all = () => Promise.reject(new Error('the store does not answer'))
  for (let times = 0; times < 2; times++) await assert.rejects(list.hasRequired(), /does not answer/)
  all = async () => [connection('own', { organization: 'acme', required: true })]
  assert.equal(await list.hasRequired(), true)
})

test('what is required is read again once the clock was set back', async () => {
  const clock = manualClock()
  let all: Connection[] = []
  const list = new ConnectionList({ list: async () => all }, clock, silentLog)
  await list.refresh()
  all = [connection('own', { organization: 'acme', required: true })]
  clock.advance(-1)
  assert.equal(await list.hasRequired(), true)
})

test('the list is read again in the background, and stays while the store does not answer', async () => {
  const clock = manualClock()
  const read = [Promise.withResolvers<Connection[]>(), Promise.withResolvers<Connection[]>()]
  let reads = -1
  const store = {
    list: () => {
      reads += 1
      return reads === 0 ? Promise.resolve([connection('a')]) : (read[reads - 1]?.promise ?? Promise.reject())
    },
  }
  const list = new ConnectionList(store, clock, silentLog)
  await list.refresh()
  clock.advance(5_000)
  assert.equal(list.listForSignIn()[0]?.id, 'a')
  read[0]?.reject(new Error('the store does not answer'))
  clock.advance(5_000)
  assert.equal(list.listForSignIn()[0]?.id, 'a')
  const refreshed = list.refresh()
  read[1]?.resolve([connection('b')])
  await refreshed.catch(() => {})
  assert.equal(reads >= 2, true)
})
