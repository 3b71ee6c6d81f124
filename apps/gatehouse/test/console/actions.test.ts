import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type ActionId, actions, mayDo, operations } from '@gatehouse/console/actions'
import { Person } from '../../../console/test/support/person.ts'
import { type Program, started } from '../support/program.ts'

const roles = ['owner', 'operator', 'support', 'auditor'] as const
type RoleName = (typeof roles)[number]

interface Call {
  readonly params?: Readonly<Record<string, string>>
  readonly body?: object
}

const nothing = '019a205c-cc20-7a27-aaca-4b0e3f272052'
const target = { params: { id: 'target' } }
/** Keys that were made for a role to revoke. */
const keys = new Map<RoleName, string>()

/** A call for each action. One without a case fails. What it changes is made for the role. */
const cases: Readonly<Record<ActionId, (role: RoleName) => Call>> = {
  whoAmI: () => ({}),
  listUsers: () => ({}),
  readUser: () => target,
  lockUser: (role) => ({ params: { id: `user-of-${role}` }, body: { locked: true } }),
  deleteUser: (role) => ({ params: { id: `user-of-${role}` } }),
  mailUser: () => ({ ...target, body: { kind: 'reset' } }),
  revealUser: () => ({ ...target, body: { fields: ['email'], reason: 'a test' } }),
  listSessions: () => target,
  endSession: () => ({ params: { id: 'target', session_id: nothing } }),
  listConsents: () => target,
  withdrawConsent: () => ({ params: { id: 'target', client_id: 'setup' } }),
  readFactors: () => target,
  resetFactors: () => target,
  listClients: () => ({}),
  readClient: () => ({ params: { id: 'setup' } }),
  rotateSecret: (role) => ({ params: { id: `client-of-${role}` } }),
  deleteClient: (role) => ({ params: { id: `client-of-${role}` } }),
  listApiKeys: () => ({}),
  createApiKey: (role) => ({ body: { owner: 'target', name: `made by ${role}` } }),
  revokeApiKey: (role) => ({ params: { id: keys.get(role) ?? '' } }),
  listSigningKeys: () => ({}),
  listRoles: () => ({}),
  listMembers: () => ({ params: { role: 'gatehouse-auditor' } }),
  grantRole: () => ({ params: { role: 'gatehouse-auditor', user_id: 'target' } }),
  revokeRole: () => ({ params: { role: 'gatehouse-auditor', user_id: 'target' } }),
  readAudit: () => ({}),
  exportAudit: () => ({}),
  readNotification: () => ({ params: { id: nothing } }),
  explain: () => ({ body: { event: 'order.shipped', user_id: 'target', data: {} } }),
  listEventTypes: () => ({}),
  listDeadLetters: () => ({}),
  replayDeadLetter: () => ({ params: { id: nothing } }),
  discardDeadLetter: () => ({ params: { id: nothing } }),
}
/** What has nothing to act on here: the API gets as far as to look for it. */
const mayFindNothing: ReadonlySet<ActionId> = new Set([
  'endSession',
  'withdrawConsent',
  'resetFactors',
  'readNotification',
  'replayDeadLetter',
  'discardDeadLetter',
])

describe('the actions of the console, by role, against the APIs', () => {
  let program: Program
  const people = new Map<RoleName, Person>()
  before(async () => {
    program = await started({ env: { GATEHOUSE_CONFIG: join(import.meta.dirname, 'roles.yaml') } })
    await prepare(program.url)
    for (const role of roles) {
      const person = new Person(program.url)
      people.set(role, person)
      const answer = await person.signIn(role, `${role} in the console`)
      assert.equal(answer.status, 200, await answer.text())
    }
  })
  after(() => program.stop())

  const act = (role: RoleName, id: ActionId) => {
    const { method, path } = operations[actions[id].operation]
    const { params = {}, body } = cases[id](role)
    const address = path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? assert.fail(`${id} needs ${name}`))
    const json =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    return people.get(role)?.api(address, { method, ...json }) ?? assert.fail(role)
  }

  test('every operation is in the API document under its name, with its method and path', async () => {
    const document = (await (await fetch(`${program.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { operationId: string }>>
    }
    for (const [id, { method, path }] of Object.entries(operations))
      assert.equal(document.paths[path]?.[method.toLowerCase()]?.operationId, id)
  })

  for (const id of Object.keys(actions) as ActionId[])
    test(`${id} is for exactly its roles, and each change is in the audit trail once`, async () => {
      for (const role of roles) {
        const answer = await act(role, id)
        const { status } = answer
        const text = await answer.text()
        if (!mayDo(id, [`gatehouse-${role}`])) {
          assert.equal(status, 403, `${role}: ${text}`)
          continue
        }
        assert.ok(status < 300 || (status === 404 && mayFindNothing.has(id)), `${role}: ${status} ${text}`)
        const changes = operations[actions[id].operation].method !== 'GET' && id !== 'explain' && status < 300
        if (changes) assert.equal(await recorded(answer.headers.get('x-request-id') ?? ''), 1, `${role}: audit`)
      }
    })

  test('an API key of an owner does nothing that cannot be undone', async () => {
    const body = JSON.stringify({ owner: 'owner', name: 'for a script', scopes: ['admin:users'] })
    const headers = { 'content-type': 'application/json' }
    const made = await people.get('owner')?.api('/admin/v1/api-keys', { method: 'POST', body, headers })
    const { key } = (await (made ?? assert.fail('nobody signed in')).json()) as { key: string }
    const ask = (method: string) =>
      fetch(`${program.url}/admin/v1/users/target`, { method, headers: { 'x-api-key': key } })
    assert.equal((await ask('GET')).status, 200)
    const refused = await ask('DELETE')
    assert.equal(refused.status, 401)
    assert.match(refused.headers.get('www-authenticate') ?? '', /insufficient_user_authentication/)
  })

  test('the client of the console keeps its secret and stays, or nobody could sign in', async () => {
    const owner = people.get('owner') ?? assert.fail('nobody signed in')
    const path = '/admin/v1/clients/gatehouse-console'
    assert.equal((await owner.api(`${path}/secret`, { method: 'POST' })).status, 409)
    assert.equal((await owner.api(path, { method: 'DELETE' })).status, 409)
  })

  const recorded = async (requestId: string) => {
    const owner = people.get('owner') ?? assert.fail('nobody signed in')
    const answer = await owner.api(`/admin/v1/audit-events?request_id=${requestId}`)
    return ((await answer.json()) as { items: object[] }).items.length
  }
})

/** Makes what the actions change: a user, a client and a key for each role. */
async function prepare(url: string): Promise<void> {
  const authorization = `Basic ${Buffer.from('setup:setup-secret-0123456789').toString('base64')}`
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    scope: 'admin:users admin:clients admin:api-keys',
  })
  const answer = await fetch(`${url}/token`, { method: 'POST', body, headers: { authorization } })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  const post = async (path: string, json: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const made = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(json) })
    const text = await made.text()
    assert.equal(made.status, 201, text)
    return JSON.parse(text) as { id: string }
  }
  // A reset of factors ends the keys of its user.
  await post('/admin/v1/users', { id: 'holder' })
  for (const role of roles) {
    await post('/admin/v1/users', { id: `user-of-${role}` })
    await post('/admin/v1/clients', { client_id: `client-of-${role}`, grant_types: ['client_credentials'] })
    keys.set(role, (await post('/admin/v1/api-keys', { owner: 'holder', name: `for ${role}` })).id)
  }
}
