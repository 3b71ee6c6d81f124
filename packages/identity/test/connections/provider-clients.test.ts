import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyRing, manualClock, Secret } from '@gatehouse/kit'
import { ProviderClients } from '../../src/connections/provider-clients.ts'
import type { Connection } from '../../src/model/connection.ts'

const connection: Connection = {
  id: 'github',
  settings: { kind: 'github', client_id: 'c' },
  secretSealed: undefined,
  createdAt: 0,
  updatedAt: 0,
}

test('the client of a connection is kept for an hour, and no longer once the clock was set back', async () => {
  const clock = manualClock()
  const encryptionKey = KeyRing.of(new Secret('0123456789abcdef0123456789abcdef'))
  const clients = new ProviderClients({ clock, encryptionKey, loopback: true })
  const first = await clients.get(connection)
  clock.advance(3_600_000 - 1)
  assert.equal(await clients.get(connection), first)
  clock.advance(1)
  const second = await clients.get(connection)
  assert.notEqual(second, first)
  clock.advance(-3_600_000)
  assert.notEqual(await clients.get(connection), second)
})
