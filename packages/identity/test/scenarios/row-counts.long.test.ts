import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { Lifetimes } from '../../src/model/grants/lifetimes.ts'
import { identityTables, postgresIdentityStore } from '../../src/postgres/index.ts'
import { asksForFactor, type Enrolled, enrol } from '../support/factors/factors.ts'
import {
  authorizeUrl,
  clients,
  getCode,
  getTokens,
  pkce,
  redirectParameters,
  TestBrowser,
  users,
} from '../support/journey.ts'
import { issuer, type Running, setup } from '../support/setup.ts'

const hourMs = 3_600_000
/** Tables that grow by declaration and management only, not by use. */
const registers = new Set([
  ...['account', 'client', 'subject', 'declared', 'signing_key', 'api_key', 'consent', 'last_sign_in'],
  ...['organization', 'membership', 'membership_role', 'organization_role', 'organization_domain'],
  'protected_permission',
  ...['authenticator_app', 'recovery_code', 'factor_reset', 'audit_removal'],
])
/**
 * Tables that need a passkey, another provider, a logo, limits or an administrator, and statistics, which are written by
 * the machine's clock; their retention is tested with them.
 */
const elsewhere = new Set([
  ...['api_key', 'client_logo', 'connection', 'connection_flow', 'linked_account', 'provider_session'],
  ...['passkey', 'passkey_challenge', 'former_member', 'former_upstream'],
  ...['limit_version', 'limit_file', 'limit_override', 'limit_gateway', 'management_role', 'stat', 'stat_batch'],
])
const webForm = { client_id: 'web', client_secret: 'web-secret-0123456789abc' }

const keyPair = await generateKeyPair('ES256')
const declared = {
  clients: [
    { ...clients[0], client_id: 'web', backchannel_logout_uri: 'https://app.invalid/logout' },
    ...clients.slice(1),
    { ...webForm, client_id: 'opaque', access_token_format: 'opaque' as const, scopes: ['read:users'] },
    {
      client_id: 'signer',
      token_endpoint_auth_method: 'private_key_jwt' as const,
      grant_types: ['client_credentials' as const],
      jwks: { keys: [{ ...(await exportJWK(keyPair.publicKey)), kid: 'one', alg: 'ES256' }] },
      scopes: ['read:users'],
    },
  ],
  users: [
    ...users,
    { id: 'carol', password: 'a quiet tree house', email: 'carol@example.com' },
    { id: 'dave', password: 'a quiet tree house' },
  ],
  organizations: [{ id: 'acme', members: [{ user_id: 'carol', roles: ['owner'] }] }],
}

async function rowCounts({ database }: Running): Promise<Record<string, number>> {
  const { rows } = await database.query<{ table_name: string }>(
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'identity' AND table_type = 'BASE TABLE' AND table_name NOT LIKE '%migration%'",
  )
  const counts: Record<string, number> = {}
  for (const { table_name } of rows) {
    const { rows: counted } = await database.query<{ n: number }>(`SELECT count(*) AS n FROM identity.${table_name}`)
    counts[table_name] = counted[0]?.n ?? 0
  }
  return counts
}

/** An hour of use that writes to every table. */
async function simulateHour(running: Running, nth: number): Promise<void> {
  const refresh = (refresh_token = '') =>
    running.post('/token', { grant_type: 'refresh_token', refresh_token, ...webForm })
  const browser = new TestBrowser(running)
  const kept = await getTokens(running, { browser })
  const reused = await getTokens(running, { browser })
  const second = await refresh(kept.refresh_token)
  await refresh(String(second.body.refresh_token))
  await refresh(String((await refresh(reused.refresh_token)).body.refresh_token))
  await refresh(reused.refresh_token)
  await getCode(running, { browser })
  const revoked = await getTokens(running, { user: ['bob', 'battery staple'] })
  await running.post('/revoke', { token: revoked.refresh_token ?? '', ...webForm })
  await running.post('/par', { ...webForm, scope: 'openid', response_type: 'code', ...pkce() })
  await running.post('/device_authorization', { client_id: 'tv', scope: 'openid' })
  const { client_secret } = webForm
  await running.post('/token', { grant_type: 'client_credentials', client_id: 'opaque', client_secret })
  const now = Math.floor(running.clock.now() / 1000)
  const client_assertion = await new SignJWT({ jti: `j${nth}`, exp: now + 60, iat: now, aud: issuer })
    .setIssuer('signer')
    .setSubject('signer')
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .sign(keyPair.privateKey)
  const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
  const assertion = { grant_type: 'client_credentials', client_assertion_type, client_assertion }
  assert.equal((await running.post('/token', assertion)).status, 200)
  await browser.submit(await browser.get('/password/forgot'), { email: `${nth % 2 ? 'alice' : 'bob'}@example.com` })
  await browser.submit(await browser.get('/account/email'), { email: `moved-${nth}@example.com` })
  const phone_number = `+44207946${String(nth).padStart(4, '0')}`
  await browser.submit(await browser.get('/account/phone'), { phone_number })
  if (nth % 2) await browser.get(`/end_session?${new URLSearchParams({ id_token_hint: kept.id_token ?? '' })}`)
  await browser.submit(await browser.get('/register'), { email: `new-${nth}@example.com` })
  await signInByMail(running)
  await invite(running)
  await signInWithFactor(running)
  const request = authorizeUrl({ client_id: 'web', response_type: 'code', scope: 'openid', prompt: 'none', ...pkce() })
  assert.equal('error' in redirectParameters(await browser.get(request)), nth % 2 === 1)
}

/** Invites an address again, and names a domain that the organization has. */
async function invite({ database, clock }: Running): Promise<void> {
  const { invitations, organizationDomains } = postgresIdentityStore(database)
  const id = crypto.randomUUID()
  const [organizationId, createdAt] = ['acme', clock.now()]
  const invitation = { id, organizationId, email: 'x@example.com', roles: ['owner'], invitedBy: 'carol', createdAt }
  await invitations.put({ ...invitation, expiresAt: createdAt + 7 * 24 * hourMs }, id, [])
  const domain = { organizationId, domain: 'x.example', challenge: 'x', createdAt, verifiedAt: undefined }
  await organizationDomains.add(domain)
}

/** The browser and the app of carol, who has a second factor. */
const enrolled = new WeakMap<Running, Enrolled>()

/** A sign-in that needs the second factor once in 30 days; and a reset of somebody else's factors. */
async function signInWithFactor(running: Running): Promise<void> {
  const carol = ['carol', 'a quiet tree house'] as const
  const known = enrolled.get(running) ?? (await enrol(running, carol))
  enrolled.set(running, known)
  const { browser, app } = known
  const page = await browser.get('/account')
  const next = page.text.includes('action="/login"') ? await browser.signIn(page, ...carol) : page
  if (asksForFactor(next)) await browser.submit(next, { code: app.nextCode(), remember: 'yes' })
  const now = running.clock.now()
  const end = { now, expiresAt: now, createLogoutMessages: () => [], endsGrantsOf: [] }
  await postgresIdentityStore(running.database).factors.reset('dave', end, [])
}

/** The ids of accounts above their limit, where an unknown device confirms by mail. */
const attacked = new Set<string>()

/** A sign-in that waits for its mailed link, whose row is written after the response. */
async function signInByMail(running: Running): Promise<void> {
  attacked.add('bob')
  const browser = new TestBrowser(running)
  const request = authorizeUrl({ client_id: 'web', response_type: 'code', scope: 'openid', ...pkce() })
  await browser.signIn(await browser.get(request), 'bob', 'battery staple')
  const links = async () => (await running.database.query('SELECT FROM identity.sign_in_link')).rowCount
  while ((await links()) === 0) await nextTurn()
  attacked.delete('bob')
}

/** Identity with every feature that writes rows, and a purge that runs until nothing expired is left. */
async function setupWithPurge(lifetimes: Partial<Lifetimes>) {
  const running = await setup({
    declared,
    features: { registration: true },
    limit: async (policy, { account = '' }) => ({ allowed: policy !== 'login-account' || !attacked.has(account) }),
    lifetimes,
    mfa: 'optional',
    sms: true,
    notify: async () => {
      throw new Error('the notification service is unavailable')
    },
  })
  const store = postgresIdentityStore(running.database)
  const purge = async () => {
    const now = running.clock.now()
    await store.signingKeys.purge(now)
    for (;;) {
      const gone = await store.purge.purge(now, now - (lifetimes.auditEvent ?? 0) * 1000, 500)
      if (Object.values(gone).every((count) => count < 500)) return
    }
  }
  return { running, purge }
}

/**
 * Rows by which weeks differ: every second one ends with a logout, and a rotation a month may come just before the
 * moment at which a key is due, or just after it; so may the end of a retired one.
 */
const variation: Readonly<Record<string, number>> = { audit_event: 2, signing_key: 1, retired_key: 1 }

test('a year of weekly visits leaves no more rows at its end than at its beginning', async (t) => {
  const { running, purge } = await setupWithPurge({
    refreshToken: 20 * 86_400,
    session: 14 * 86_400,
    auditEvent: 60 * 86_400,
    signingKey: 30 * 86_400,
  })
  t.after(() => running.close())
  const weeks: Record<string, number>[] = []
  for (let week = 0; week < 52; week++) {
    await simulateHour(running, week)
    running.clock.advance(7 * 24 * hourMs)
    await purge()
    if (week % 4 === 3) await running.identity.management.rotateSigningKey('ES256')
    weeks.push(await rowCounts(running))
  }
  const year = weeks.at(-1) ?? {}
  t.diagnostic(JSON.stringify(year))
  const missing = identityTables.filter(({ table }) => table !== 'migration' && !(table in year))
  assert.deepEqual(missing, [])
  const maxOf = (table: string, from: number, to: number) =>
    Math.max(...weeks.slice(from, to).map((counts) => counts[table] ?? 0))
  for (const table of Object.keys(year).filter((each) => !elsewhere.has(each))) {
    const [early, late] = [maxOf(table, 9, 26), maxOf(table, 35, 52)]
    const varies = variation[table] ?? 0
    assert.ok(
      late <= early + varies,
      `${table}: at most ${early} in the first half of the year, ${late} in its last third`,
    )
  }
})

const stepsADay = 8

test('every table levels off under constant use and empties without it', async (t) => {
  const { running, purge } = await setupWithPurge({
    refreshToken: 86_400,
    session: 3600,
    maxSession: 86_400,
    auditEvent: 86_400,
    // Longer than the test: keys that are due come by the machine's clock, just before or after the one of each day.
    signingKey: 30 * 86_400,
  })
  t.after(() => running.close())
  const peaks: Record<string, number>[] = []
  for (let day = 0; day < 5; day++) {
    const peak: Record<string, number> = {}
    for (let step = 0; step < stepsADay; step++) {
      await simulateHour(running, day * stepsADay + step)
      for (const [table, count] of Object.entries(await rowCounts(running))) {
        peak[table] = Math.max(peak[table] ?? 0, count)
      }
      running.clock.advance((24 * hourMs) / stepsADay)
      await purge()
    }
    await running.identity.management.rotateSigningKey('ES256')
    peaks.push(peak)
  }
  const [, , early = {}, , late = {}] = peaks
  for (const [table, count] of Object.entries(late)) {
    if (elsewhere.has(table)) continue
    assert.ok(count > 0, `${table} was used`)
    // Notices are of use for a week; the year above shows that they end.
    const kept = table === 'outbox' ? count : (early[table] ?? 0)
    assert.ok(count <= kept, `${table}: ${early[table]} on the third day, ${count} on the fifth`)
  }
  running.clock.advance(40 * 86_400_000)
  await purge()
  const left = Object.entries(await rowCounts(running)).filter(
    ([table, count]) => !registers.has(table) && !elsewhere.has(table) && count > 0,
  )
  assert.deepEqual(left, [])
})
