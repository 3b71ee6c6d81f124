import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type ActionId, actions, factsOf, isForRole, mayDo } from '@gatehouse/console/actions'
import { Person } from '../../../console/test/support/person.ts'
import { type Program, started } from '../support/program.ts'
import { access, accessMayFindNothing } from './cases/access.ts'
import { callers, callersMayFindNothing } from './cases/callers.ts'
import { type Cases, keys, type RoleName, roles } from './cases/case.ts'
import { content, contentMayFindNothing } from './cases/content.ts'
import { deliver, deliverMayFindNothing } from './cases/deliver.ts'
import { limits, limitsMayFindNothing } from './cases/limits.ts'
import { measure, measureMayFindNothing } from './cases/measure.ts'
import { operate, operateMayFindNothing } from './cases/operate.ts'
import { people, peopleMayFindNothing, quotas, recipients, searches } from './cases/people.ts'
import { repair, repairMayFindNothing } from './cases/repair.ts'

/** A call for each action. One without a case does not compile. */
const cases: Cases<ActionId> = {
  ...measure,
  ...deliver,
  ...repair,
  ...content,
  ...people,
  ...recipients,
  ...searches,
  ...quotas,
  ...access,
  ...limits,
  ...callers,
  ...operate,
}
const mayFindNothing: ReadonlySet<ActionId> = new Set([
  ...measureMayFindNothing,
  ...deliverMayFindNothing,
  ...repairMayFindNothing,
  ...contentMayFindNothing,
  ...peopleMayFindNothing,
  ...accessMayFindNothing,
  ...limitsMayFindNothing,
  ...callersMayFindNothing,
  ...operateMayFindNothing,
])
/** Calls that change nothing although they are no GET. */
const unrecorded: ReadonlySet<ActionId> = new Set(['explain', 'previewTemplate', 'simulateEventType', 'validateLimit'])

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
    const { method, path } = factsOf(actions[id].operation)
    const { params = {}, query = {}, body } = cases[id](role)
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? assert.fail(`${id} needs ${name}`))
    const search = new URLSearchParams(query).toString()
    const address = search === '' ? filled : `${filled}?${search}`
    const json =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    return people.get(role)?.api(address, { method, ...json }) ?? assert.fail(role)
  }

  test('every operation is in the API document under its name, with its method and path', async () => {
    const document = (await (await fetch(`${program.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { operationId: string }>>
    }
    for (const { operation } of Object.values(actions)) {
      const { method, path } = factsOf(operation)
      assert.equal(document.paths[path]?.[method.toLowerCase()]?.operationId, operation)
    }
  })

  for (const id of Object.keys(actions) as ActionId[])
    test(`${id} is for exactly its roles, and each change is in the audit trail`, async () => {
      for (const role of roles) {
        const answer = await act(role, id)
        const { status } = answer
        const text = await answer.text()
        if (!isForRole(id, [`gatehouse-${role}`])) {
          assert.equal(status, 403, `${role}: ${text}`)
          continue
        }
        assert.ok(status < 300 || (status === 404 && mayFindNothing.has(id)), `${role}: ${status} ${text}`)
        const { method, idempotent } = factsOf(actions[id].operation)
        // A search is sent by POST, so that what it looks for is in no address.
        const changes =
          method !== 'GET' && !(method === 'POST' && idempotent === true) && !unrecorded.has(id) && status < 300
        const entries = id === 'sendMany' ? 2 : 1
        if (changes) assert.equal(await recorded(answer.headers.get('x-request-id') ?? ''), entries, `${role}: audit`)
      }
    })

  test('the buttons that are shown by scopes are those of the roles, as these come', async () => {
    for (const role of roles) {
      const person = people.get(role) ?? assert.fail(role)
      const { scopes } = (await (await person.api('/session')).json()) as { scopes: string[] }
      const ids = Object.keys(actions) as ActionId[]
      assert.deepEqual(
        ids.filter((id) => mayDo(id, scopes)),
        ids.filter((id) => isForRole(id, [`gatehouse-${role}`])),
        role,
      )
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
    const headers = { 'content-type': 'application/json' }
    assert.equal((await owner.api(`${path}/secret`, { method: 'POST', body: '{}', headers })).status, 409)
    assert.equal((await owner.api(path, { method: 'DELETE' })).status, 409)
  })

  const recorded = async (requestId: string) => {
    const owner = people.get('owner') ?? assert.fail('nobody signed in')
    const answer = await owner.api(`/admin/v1/audit-events?type=management&request_id=${requestId}`)
    return ((await answer.json()) as { items: object[] }).items.length
  }
})

/** Makes what the actions change: a user, a client, a key and a permission that no role has, for each role. */
async function prepare(url: string): Promise<void> {
  const authorization = `Basic ${Buffer.from('setup:setup-secret-0123456789').toString('base64')}`
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    scope: 'admin:users admin:clients admin:api-keys admin:organizations',
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
  const template = `${url}/admin/v1/organization-roles/former`
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  for (const permissions of [roles.map((role) => `orders:of-${role}`), []]) {
    const put = await fetch(template, { method: 'PUT', headers, body: JSON.stringify({ permissions }) })
    assert.equal(put.status, 204, await put.text())
  }
  // A reset of factors ends the keys of its user.
  await post('/admin/v1/users', { id: 'holder' })
  for (const role of roles) {
    await post('/admin/v1/users', { id: `user-of-${role}` })
    await post('/admin/v1/clients', { client_id: `client-of-${role}`, grant_types: ['client_credentials'] })
    keys.set(role, (await post('/admin/v1/api-keys', { owner: 'holder', name: `for ${role}` })).id)
  }
}
