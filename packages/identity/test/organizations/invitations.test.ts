import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { getTokens, TestBrowser } from '../support/journey.ts'
import {
  invitationLink,
  memberToken,
  type Organizations,
  password,
  send,
  setupOrganizations,
  signedIn,
} from '../support/management/organizations.ts'
import type { TestResponse } from '../support/setup.ts'

let running: Organizations
let olga: string
let adam: string
before(async () => {
  running = await setupOrganizations()
  olga = await memberToken(running, 'olga', 'acme')
  adam = await memberToken(running, 'adam', 'acme')
})
after(() => running.close())

const day = 86_400_000

/** Invites an address to acme and returns the path of the link in the mail. */
async function invite(email: string, roles: readonly string[] = ['viewer'], token: string = adam): Promise<string> {
  const made = await send(running, token, 'POST', '/organizations/acme/invitations', { email, roles })
  assert.equal(made.status, 201, made.text)
  return invitationLink(running, email.toLowerCase())
}

async function rolesOf(user: string): Promise<unknown> {
  const { body } = await send(running, olga, 'GET', '/organizations/acme/members?limit=200')
  return (body.items as { user_id: string; roles: string[] }[]).find(({ user_id }) => user_id === user)?.roles
}

const leave = (user: string) => send(running, olga, 'DELETE', `/organizations/acme/members/${user}`)

function assertInvalid(page: TestResponse): void {
  assert.equal(page.status, 400, page.text)
  assert.match(page.text, /This invitation is invalid/)
}

test('an invited user signs in at the link, joins, and the link is used up', async () => {
  const link = await invite('sam@people.example')
  const browser = new TestBrowser(running)
  const page = await browser.signIn(await browser.get(link), 'sam', password)
  assert.match(page.text, /Join Acme Ltd\?/)
  assert.equal(await rolesOf('sam'), undefined, 'opening the link does not use it')
  assert.match((await browser.submit(page)).text, /You are a member of Acme Ltd/)
  assert.deepEqual(await rolesOf('sam'), ['viewer'])
  assertInvalid(await browser.submit(page))
  assertInvalid(await browser.get(link))
  await leave('sam')
})

test('a form of another site accepts nothing', async () => {
  const link = await invite('sam@people.example')
  const browser = await signedIn(running, 'sam')
  const token = new URLSearchParams(link.split('?')[1]).get('token') ?? ''
  assert.equal((await browser.post('/invitation', { token })).status, 403)
  assert.equal(await rolesOf('sam'), undefined)
})

test('another user cannot use an invitation, and learns of it by mail (GHSA-fmh4-wcc4-5jm3)', async () => {
  const link = await invite('sam@people.example')
  const other = await signedIn(running, 'bob')
  const page = await other.get(link)
  assertInvalid(page)
  assert.doesNotMatch(page.text, /sam@people|Acme/)
  const own = await signedIn(running, 'sam')
  const form = await own.get(link)
  const token = new URLSearchParams(link.split('?')[1]).get('token') ?? ''
  const account = await other.get('/account')
  const formToken = /name="form_token" value="([^"]+)"/.exec(account.text)?.[1] ?? ''
  assertInvalid(await other.post('/invitation', { token, form_token: formToken }))
  assert.equal(await rolesOf('bob'), undefined)
  while (!running.mails.some(({ event, user_id }) => event === 'invitation_not_yours' && user_id === 'bob'))
    await nextTurn()
  assert.match((await own.submit(form)).text, /You are a member/)
  await leave('sam')
})

test('an unverified address accepts nothing until it is verified', async () => {
  const link = await invite('uma@people.example')
  const browser = await signedIn(running, 'uma')
  assertInvalid(await browser.get(link))
  await running.identity.management.updateUser('uma', { email_verified: true })
  assert.match((await browser.submit(await browser.get(link))).text, /You are a member/)
  await leave('uma')
})

test('a user who gave up the invited address accepts nothing, even on an open page', async () => {
  const link = await invite('sam@people.example')
  const browser = await signedIn(running, 'sam')
  const page = await browser.get(link)
  await running.identity.management.updateUser('sam', { email: 'new@people.example', email_verified: true })
  assertInvalid(await browser.submit(page))
  await running.identity.management.updateUser('sam', { email: 'sam@people.example', email_verified: true })
})

test('an invitation expires after seven days', async () => {
  const link = await invite('sam@people.example')
  const browser = await signedIn(running, 'sam')
  const page = await browser.get(link)
  running.clock.advance(7 * day - 1000)
  const early = await signedIn(running, 'sam')
  assert.equal((await early.get(link)).status, 200)
  running.clock.advance(1000)
  assertInvalid(await early.get(link))
  assertInvalid(await early.submit(page).then(() => early.get(link)))
  olga = await memberToken(running, 'olga', 'acme')
  adam = await memberToken(running, 'adam', 'acme')
  const { body } = await send(running, olga, 'GET', '/organizations/acme/invitations')
  assert.deepEqual(body.items, [])
})

test('a revoked invitation and one that was replaced are invalid', async () => {
  const first = await invite('sam@people.example')
  const second = await invite('SAM@people.example')
  const browser = await signedIn(running, 'sam')
  assertInvalid(await browser.get(first))
  const page = await browser.get(second)
  assert.equal(page.status, 200)
  const { body } = await send(running, olga, 'GET', '/organizations/acme/invitations')
  const [invitation] = body.items as { id: string; email: string; invited_by: string }[]
  assert.deepEqual([invitation?.email, invitation?.invited_by], ['sam@people.example', 'adam'])
  const revoked = await send(running, olga, 'DELETE', `/organizations/acme/invitations/${invitation?.id}`)
  assert.equal(revoked.status, 204)
  assertInvalid(await browser.submit(page))
})

test('an invitation is worth what its inviter may still grant', async () => {
  const link = await invite('sam@people.example')
  const browser = await signedIn(running, 'sam')
  const page = await browser.get(link)
  const put = (roles: string[]) => send(running, olga, 'PUT', '/organizations/acme/members/adam', { roles })
  await put([])
  assertInvalid(await browser.submit(page))
  await put(['admin'])
  assert.equal((await browser.get(link)).status, 200)
  await leave('adam')
  assertInvalid(await browser.submit(page))
  const console_ = await send(running, olga, 'GET', '/organizations/acme/invitations')
  assert.deepEqual(console_.body.items, [], 'invitations end with the membership of their inviter')
})

test('an invitation waits while its inviter is locked', async () => {
  const { updateUser } = running.identity.management
  const link = await invite('sam@people.example', ['viewer'], olga)
  const browser = await signedIn(running, 'sam')
  const page = await browser.get(link)
  assert.equal(page.status, 200, page.text)
  await updateUser('olga', { locked: true })
  assertInvalid(await browser.submit(page))
  assertInvalid(await browser.get(link))
  await updateUser('olga', { locked: false })
  olga = await memberToken(running, 'olga', 'acme')
  assert.equal(await rolesOf('sam'), undefined)
  const again = await browser.get(link)
  assert.equal(again.status, 200, again.text)
  assert.match((await browser.submit(again)).text, /You are a member/)
  await leave('sam')
})

test('a member who accepts another invitation keeps their roles', async () => {
  const link = await invite('ann@people.example', ['owner'], olga)
  const browser = await signedIn(running, 'ann')
  assert.match((await browser.submit(await browser.get(link))).text, /You are a member/)
  assert.deepEqual(await rolesOf('ann'), ['editor'])
})

test('invitations of an address are limited', async () => {
  const limited = await setupOrganizations({
    limit: async (policy) => ({ allowed: policy !== 'invitation-account', retryAfter: 7 }),
  })
  const token = await memberToken(limited, 'olga', 'acme')
  const response = await send(limited, token, 'POST', '/organizations/acme/invitations', { email: 'a@people.example' })
  assert.deepEqual([response.status, response.headers['retry-after']], [429, '7'])
  await limited.close()
})

test('the account page of a member leads to the organizations, which can be left', async () => {
  const stranger = await signedIn(running, 'sam')
  assert.doesNotMatch((await stranger.get('/account')).text, /account\/organizations/)
  assert.match((await stranger.get('/account/organizations')).text, /not a member of any organization/)
  const browser = await signedIn(running, 'vera')
  assert.match((await browser.get('/account')).text, /href="\/account\/organizations"/)
  const page = await browser.get('/account/organizations')
  assert.match(page.text, /Acme Ltd/)
  assert.equal((await browser.submit(page)).headers.location, '/account/organizations')
  assert.equal(await rolesOf('vera'), undefined)
  const owner = await signedIn(running, 'olga')
  const refused = await owner.submit(await owner.get('/account/organizations'))
  assert.equal(refused.status, 400)
  assert.match(refused.text, /You are the last owner/)
  assert.deepEqual(await rolesOf('olga'), ['owner'])
})

test('deleting an account deletes the invitations to its proven address, and those that it sent', async () => {
  const { createUser, deleteUser } = running.identity.management
  const email = 'ivy@people.example'
  const list = async () => {
    const { body } = await send(running, olga, 'GET', '/organizations/acme/invitations')
    return (body.items as { email: string }[]).map((one) => one.email)
  }
  const invited = await invite(email, [], olga)
  await createUser({ id: 'pretender', password, email })
  await deleteUser('pretender')
  assert.ok((await list()).includes(email), 'an address that was never proven is not whose it says')
  await createUser({ id: 'ivy', password, email, email_verified: true })
  await deleteUser('ivy')
  assert.ok(!(await list()).includes(email))
  await createUser({ id: 'ivy', password, email, email_verified: true })
  // The next owner of the address does not get it.
  assertInvalid(await (await signedIn(running, 'ivy')).get(invited))

  const options = { client: 'console', scope: 'openid admin:organizations', user: ['owner', password] as const }
  const { access_token = '' } = await getTokens(running, options)
  await send(running, access_token, 'PUT', '/admin/v1/organizations/acme/members/ivy', { roles: ['admin'] })
  const sent = await invite('guest@people.example', [], await memberToken(running, 'ivy', 'acme'))
  await createUser({ id: 'guest', password, email: 'guest@people.example', email_verified: true })
  const guest = await signedIn(running, 'guest')
  const page = await guest.get(sent)
  assert.equal(page.status, 200)
  await deleteUser('ivy')
  assertInvalid(await guest.submit(page))
  assert.ok(!(await list()).includes('guest@people.example'))
  await deleteUser('guest')
})

test('the download of a user’s data has their memberships and the invitations that wait', async () => {
  await invite('ann@people.example', ['viewer'], olga)
  await invite('elsewhere@people.example', [], olga)
  const ann = await signedIn(running, 'ann')
  const { organizations, invitations, invitations_sent } = (await ann.get('/account/data')).body
  assert.deepEqual(organizations, [
    { id: 'acme', name: 'Acme Ltd', roles: ['editor'] },
    { id: 'beta', name: 'Beta Inc', roles: ['viewer'] },
  ])
  const [received, ...more] = invitations as { organization: object; roles: string[] }[]
  assert.deepEqual([received?.organization, received?.roles], [{ id: 'acme', name: 'Acme Ltd' }, ['viewer']])
  assert.deepEqual([more, invitations_sent], [[], []])
  const owner = await (await signedIn(running, 'olga')).get('/account/data')
  assert.equal((owner.body.invitations_sent as object[]).length, 2)
  assert.doesNotMatch(owner.text, /ann@|elsewhere@/, 'whom the user invited is about others')
  const stranger = await (await signedIn(running, 'uma')).get('/account/data')
  assert.deepEqual([stranger.body.organizations, stranger.body.invitations], [[], []])
})

test('joining and leaving are in the audit trail', async () => {
  const { rows } = await running.database.query<{ type: string; subject: string; details: Record<string, unknown> }>(
    `SELECT type, subject, details FROM identity.audit_event
     WHERE type IN ('organization_joined', 'organization_left') ORDER BY id`,
  )
  const [first] = rows
  assert.deepEqual([first?.type, first?.subject, first?.details.organization], ['organization_joined', 'sam', 'acme'])
  assert.deepEqual([rows.at(-1)?.type, rows.at(-1)?.subject], ['organization_left', 'vera'])
})
