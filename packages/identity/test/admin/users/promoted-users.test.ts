/** Users who become owners between the check of a caller's authority and the change that it allowed. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { memoryDatabase, postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { migrateIdentity, postgresIdentityStore } from '../../../src/postgres/index.ts'
import type { IdentityStore } from '../../../src/store/index.ts'
import {
  administrators,
  call,
  consoleClient,
  createFixtures,
  tokenOf,
} from '../../support/management/administrators.ts'
import { type Running, setup } from '../../support/setup.ts'

/** Runs after the action is in the audit trail, and before the change is stored. */
type Meanwhile = Map<string, () => Promise<unknown>>

function racing(store: IdentityStore, meanwhile: Meanwhile): IdentityStore {
  const { audit } = store
  const record: typeof audit.record = async (event) => {
    await audit.record(event)
    const run = meanwhile.get(event.action ?? '')
    meanwhile.delete(event.action ?? '')
    await run?.()
  }
  return { ...store, audit: Object.assign(Object.create(audit) as typeof audit, { record }) }
}

interface Change {
  readonly action: string
  readonly method: string
  /** The user who is made for it, and the rest of the path. */
  readonly prepare: (running: Running) => Promise<{ readonly user: string; readonly path?: string }>
  readonly payload?: object
}

const withUser = async (running: Running) => ({ user: await createFixtures(running).user() })
const changes: Readonly<Record<string, Change>> = {
  'a new password': {
    action: 'users.set_password',
    method: 'PUT',
    prepare: async (running) => ({ ...(await withUser(running)), path: '/password' }),
    payload: { password: 'known to the operator' },
  },
  'a lock': { action: 'users.update', method: 'PATCH', prepare: withUser, payload: { locked: true } },
  'a deletion': { action: 'users.delete', method: 'DELETE', prepare: withUser },
  'a reset of the factors': {
    action: 'factors.reset',
    method: 'DELETE',
    prepare: async (running) => ({ ...(await withUser(running)), path: '/factors' }),
  },
  'a removal of a provider': {
    action: 'linked_providers.remove',
    method: 'DELETE',
    prepare: async (running) => {
      const { user, link } = await createFixtures(running).linkedProvider()
      return { user, path: `/providers/${link}` }
    },
  },
  'a removal of a passkey': {
    action: 'passkeys.remove',
    method: 'DELETE',
    prepare: async (running) => {
      const { user, passkey } = await createFixtures(running).passkey()
      return { user, path: `/passkeys/${passkey}` }
    },
  },
}

/** A server under test whose changes can be interrupted. */
class Raced {
  readonly running: Running
  readonly #meanwhile: Meanwhile

  private constructor(running: Running, meanwhile: Meanwhile) {
    this.running = running
    this.#meanwhile = meanwhile
  }

  static async start(database: Database): Promise<Raced> {
    const meanwhile: Meanwhile = new Map()
    const store = racing(postgresIdentityStore(database), meanwhile)
    const declared = { clients: [consoleClient], users: administrators }
    return new Raced(
      await setup({ store, declared, features: { passkeys: true }, background: false }, database),
      meanwhile,
    )
  }

  /** What the account consists of. */
  async #stateOf(user: string): Promise<unknown> {
    const { rows } = await this.running.database.query(
      `SELECT password_hash, credential_version, locked_at,
         (SELECT count(*)::int FROM identity.passkey p WHERE p.user_id = a.id) AS passkeys,
         (SELECT count(*)::int FROM identity.linked_account l WHERE l.user_id = a.id) AS links
       FROM identity.account a WHERE id = $1`,
      [user],
    )
    return rows[0] ?? assert.fail(`${user} is gone`)
  }

  /** The change is refused once the user is an owner, and made for one who is not. */
  async check({ action, method, prepare, payload }: Change): Promise<void> {
    const { running } = this
    const operator = await tokenOf(running, 'gatehouse-operator')
    const send = ({ user, path = '' }: { readonly user: string; readonly path?: string }) =>
      call(running, operator, { method, url: `/admin/v1/users/${user}${path}`, ...(payload ? { payload } : {}) })
    const promoted = await prepare(running)
    const before = await this.#stateOf(promoted.user)
    const grant = { role: 'gatehouse-owner', granted: true }
    this.#meanwhile.set(action, () => running.identity.management.changeRole(promoted.user, grant))
    const refused = await send(promoted)
    assert.equal(refused.status, 409, refused.text)
    assert.match(refused.text, /changed at the same time; read it again and retry/)
    assert.deepEqual(await this.#stateOf(promoted.user), before)
    assert.equal((await send(promoted)).status, 403)
    const made = await send(await prepare(running))
    assert.ok(made.status < 300, made.text)
  }
}

describe('on the embedded engine', () => {
  let database: Database
  let raced: Raced
  before(async () => {
    database = await memoryDatabase(migrateIdentity)
    raced = await Raced.start(database)
  })
  after(async () => {
    await raced?.running.close()
    await database?.close()
  })
  for (const [name, change] of Object.entries(changes))
    test(`a user who became an owner meanwhile is not changed: ${name}`, () => raced.check(change))
})

describe('on PostgreSQL', () => {
  let server: Server | undefined
  let database: Database
  let raced: Raced
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
    if (server === undefined) return
    database = await postgresDatabase(server, 10)
    raced = await Raced.start(database)
  })
  after(async () => {
    await raced?.running.close()
    await database?.close()
    await server?.stop()
  })
  for (const [name, change] of Object.entries(changes))
    testWith('postgresql', `a user who became an owner meanwhile is not changed: ${name}`, () => raced.check(change))
})
