import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type DnsServer, startDns } from '../support/dns.ts'
import {
  administrators,
  call,
  consoleClient,
  createFixtures,
  managementRoutes,
  personOf,
  type Role,
  roles,
  tokenOf,
} from '../support/management/administrators.ts'
import { type Action, actions } from '../support/management/management-actions.ts'
import { type Running, setup } from '../support/setup.ts'

let running: Running & { readonly dnsRecords: DnsServer['records'] }
let dns: DnsServer
const tokens = new Map<Role, string>()
before(async () => {
  dns = await startDns()
  const served = await setup({
    declared: { clients: [consoleClient], users: administrators },
    notify: async () => {},
    dns: { servers: [dns.address] },
  })
  running = { ...served, dnsRecords: dns.records }
  for (const role of roles) tokens.set(role, await tokenOf(running, role))
})
after(async () => {
  await running?.close()
  await dns.close()
})

const methodOf = ({ route }: Action) => route.split(' ', 1)[0] ?? assert.fail(route)
const changing = actions.filter(({ recorded }) => recorded !== undefined)

test('every management route is in the table', () => {
  assert.deepEqual(actions.map(({ route }) => route).sort(), managementRoutes(running))
})

for (const action of actions) {
  test(`${action.route} is for ${action.allowed.map(personOf).join(', ') || 'no person'}`, async () => {
    for (const role of roles) {
      const request = { method: methodOf(action), ...(await action.prepare(createFixtures(running))) }
      const response = await call(running, tokens.get(role) ?? '', request)
      const expected = action.allowed.includes(role) ? '2xx' : '403'
      assert.equal(response.status < 300 ? '2xx' : String(response.status), expected, `${role}: ${response.text}`)
    }
  })
}

test('every route but GET is recorded, except searches and those between services', () => {
  const unrecorded = actions.filter(
    (action) => methodOf(action) !== 'GET' && action.recorded === undefined && !action.searches,
  )
  assert.deepEqual(
    unrecorded.map(({ route }) => route),
    ['POST /admin/v1/api-keys/resolve', 'POST /admin/v1/audit-events'],
  )
})

for (const action of changing) {
  test(`${action.route} records one event with its actor and without secrets`, async () => {
    const requestId = `request-${action.recorded}`
    const { secrets = [], ...prepared } = await action.prepare(createFixtures(running))
    const token = tokens.get('gatehouse-owner') ?? ''
    const response = await call(running, token, { method: methodOf(action), requestId, ...prepared })
    assert.ok(response.status < 300, response.text)
    const trail = await call(running, token, {
      method: 'GET',
      url: `/admin/v1/audit-events?type=management&request_id=${requestId}`,
    })
    const [event, ...more] = trail.body.items as Record<string, unknown>[]
    assert.deepEqual(more, [])
    const { actor, role, client_id, address, service, action: name } = event ?? {}
    assert.deepEqual(
      { actor, role, client_id, address, service, name },
      {
        actor: 'owner',
        role: 'gatehouse-owner',
        client_id: 'console',
        address: '127.0.0.1',
        service: 'identity',
        name: action.recorded,
      },
    )
    const text = JSON.stringify(event)
    const { client_secret, key, password } = response.body
    for (const one of [...secrets, client_secret, key, password]) {
      assert.ok(one === undefined || !text.includes(String(one)), `${one} is in ${text}`)
    }
    assert.doesNotMatch(text, /argon2|passwordHash|secretHashes|password_hash|secret_hash/)
  })
}

test('an audit event names exactly the members that changed, before and after', async () => {
  const { user } = createFixtures(running)
  const id = await user()
  const token = tokens.get('gatehouse-owner') ?? ''
  const requestId = 'request-members'
  const payload = { plan: 'pro', roles: ['editor'], claims: {} }
  await call(running, token, { method: 'PATCH', url: `/admin/v1/users/${id}`, payload, requestId })
  const trail = await call(running, token, { method: 'GET', url: `/admin/v1/audit-events?request_id=${requestId}` })
  const [event] = trail.body.items as Record<string, unknown>[]
  assert.deepEqual(
    [event?.target, event?.subject, event?.before, event?.after],
    [{ type: 'user', id }, id, { plan: 'free', roles: [] }, { plan: 'pro', roles: ['editor'] }],
  )
})

test('a change is rejected with 503 while the audit trail cannot be written', async () => {
  const prepared = []
  for (const action of changing) prepared.push({ action, request: await action.prepare(createFixtures(running)) })
  const state = async () => {
    const tables = [
      'client',
      'account',
      'subject',
      'api_key',
      'signing_key',
      'session',
      'grant_record',
      'consent',
      'organization',
      'membership',
      'organization_role',
      'protected_permission',
      'invitation',
      'organization_domain',
    ]
    const rows = [...tables, 'mailed_link', 'revocation', 'outbox'].map((table) =>
      running.database.query(`SELECT * FROM identity.${table} ORDER BY 1, 2`),
    )
    return (await Promise.all(rows)).map((result) => result.rows)
  }
  const untouched = await state()
  await running.database.query('ALTER TABLE identity.audit_event RENAME TO audit_event_away')
  for (const { action, request } of prepared) {
    const { secrets: _, ...sent } = request
    const token = tokens.get('gatehouse-owner') ?? ''
    const response = await call(running, token, { method: methodOf(action), ...sent })
    assert.equal(response.status, 503, `${action.route}: ${response.text}`)
    assert.match(response.text, /could not be recorded in the audit trail/)
  }
  assert.deepEqual(await state(), untouched)
  await running.database.query('ALTER TABLE identity.audit_event_away RENAME TO audit_event')
})
