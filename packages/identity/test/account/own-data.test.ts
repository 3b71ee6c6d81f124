import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { ManualClock } from '@gatehouse/kit'
import { manualClock } from '@gatehouse/kit'
import { postgresDatabase, sharedPostgres, testWith } from '@gatehouse/testing'
import type { NotifyRequest } from '../../src/index.ts'
import { recentSignInMs } from '../../src/sessions/recent-sign-in.ts'
import { clients, getTokens, TestBrowser, users, webSecret } from '../support/journey.ts'
import { isNotice, takeMails, waitingMails } from '../support/notices.ts'
import { type Running, setup, type TestResponse } from '../support/setup.ts'

const password = 'four candles please'
const person = (id: string) => ({ id, password, email: `${id}@example.com`, email_verified: true })
const options = {
  declared: {
    clients,
    users: [...users, person('carol'), person('dave'), { ...person('owner'), roles: ['gatehouse-owner'] }],
  },
  background: false,
  notify: async () => {},
}

let running: Running
let clock: ManualClock
before(async () => {
  clock = manualClock()
  running = await setup({ ...options, clock })
})
after(() => running.close())
beforeEach(() => running.database.query('DELETE FROM identity.message_count'))

async function signedIn(user: string, at: Running = running): Promise<TestBrowser> {
  const browser = new TestBrowser(at)
  await browser.signIn(await browser.get('/account'), user, password)
  await takeMails(at.database)
  return browser
}

/** The next mail with a code; the page does not wait for it. */
async function nextCode(at: Running = running): Promise<NotifyRequest> {
  for (;;) {
    const [mail] = (await waitingMails(at.database)).filter((one) => !isNotice(one))
    if (mail === undefined) continue
    await takeMails(at.database)
    return mail
  }
}

const accountOf = (user: string) =>
  running.database
    .query<{ username: string; email: string; email_verified: boolean; claims: object }>(
      'SELECT username, email, email_verified, claims FROM identity.account WHERE id = $1',
      [user],
    )
    .then(({ rows }) => rows[0])

/** Requests a new address; returns the page that waits for the code. */
async function requestEmail(browser: TestBrowser, email: string): Promise<TestResponse> {
  return browser.submit(await browser.get('/account/email'), { email })
}

for (const path of ['/account/profile', '/account/email', '/account/data', '/account/delete'])
  test(`${path} needs a recent sign-in`, async () => {
    const browser = await signedIn('carol')
    assert.equal((await browser.get(path)).status, 200)
    clock.advance(recentSignInMs + 1)
    const page = await browser.get(path)
    assert.match(page.text, /action="\/login"/)
    const resumed = await browser.submit(page, { username: 'carol', password })
    assert.ok(resumed.headers.location?.startsWith(`${path}?continuation=`))
  })

test('a user changes the name, and the notification service is informed', async () => {
  const browser = await signedIn('carol')
  const page = await browser.get('/account/profile')
  assert.match((await browser.submit(page, { name: ' Carol Clay ' })).text, /Profile saved/)
  assert.deepEqual((await accountOf('carol'))?.claims, { name: 'Carol Clay' })
  const { rows } = await running.database.query(
    "SELECT 1 FROM identity.outbox WHERE kind = 'recipient' AND subject = 'carol'",
  )
  assert.ok(rows.length > 0)
  assert.match((await browser.get('/account')).text, /Carol Clay/)
  const unproven = { name: '', phone_number: '+15550100', phone_number_verified: 'true' }
  await browser.submit(page, unproven)
  assert.deepEqual((await accountOf('carol'))?.claims, {}, 'the form takes no number')
})

test('an address changes once the code that was mailed there is entered, and both are notified', async () => {
  const browser = await signedIn('carol')
  const page = await requestEmail(browser, 'Carol@New.example')
  const mail = await nextCode()
  assert.deepEqual([mail.event, mail.email], ['email_code', 'carol@new.example'])
  assert.equal((await accountOf('carol'))?.email, 'carol@example.com')
  const code = String(mail.data.code)
  assert.match(
    (await browser.submit(page, { code: code === '000000' ? '1' : '000000' })).text,
    /This code is incorrect/,
  )
  assert.match((await browser.submit(page, { code })).text, /Email address confirmed/)
  const { email, email_verified: verified } = (await accountOf('carol')) ?? {}
  assert.deepEqual([email, verified], ['carol@new.example', true])
  assert.deepEqual(
    (await takeMails(running.database)).map(({ event, email }) => `${event} ${email}`),
    ['email_changed carol@example.com', 'email_changed carol@new.example'],
  )
  assert.equal((await browser.submit(page, { code })).status, 400, 'the code was used')
  await running.identity.management.updateUser('carol', { email: 'carol@example.com', email_verified: true })
})

test('an address that is not verified is verified by a code, without a notice', async () => {
  await running.identity.management.updateUser('dave', { email_verified: false })
  const browser = await signedIn('dave')
  assert.match((await browser.get('/account')).text, /not confirmed/)
  const form = await browser.get('/account/email')
  assert.match(form.text, /value="dave@example\.com"/)
  const page = await browser.submit(form, { email: 'dave@example.com' })
  const { data } = await nextCode()
  await browser.submit(page, { code: String(data.code) })
  assert.equal((await accountOf('dave'))?.email_verified, true)
  assert.deepEqual(await waitingMails(running.database), [])
  assert.match((await requestEmail(browser, 'dave@example.com')).text, /your confirmed address already/)
})

test('the address of another account gets the same page, and its owner a notice', async () => {
  const browser = await signedIn('carol')
  const hidden = (text: string) => text.replaceAll(/value="[^"]*"/g, '').replaceAll(/\w+@[\w.]+/g, '')
  const free = await requestEmail(browser, 'free@example.com')
  const freeCode = String((await nextCode()).data.code)
  const used = await requestEmail(browser, 'dave@example.com')
  assert.equal(hidden(used.text), hidden(free.text))
  for (;;) {
    const mails = await waitingMails(running.database)
    if (mails.length === 0) continue
    assert.deepEqual(
      mails.map(({ event, user_id: user }) => `${event} ${user}`),
      ['account_exists dave'],
    )
    break
  }
  assert.equal((await browser.submit(free, { code: freeCode })).status, 400, 'the later request replaced the first')
  assert.equal((await accountOf('carol'))?.email, 'carol@example.com')
})

test('a code for an address is bound to browser and user, to five attempts and ten minutes', async () => {
  const browser = await signedIn('carol')
  const page = await requestEmail(browser, 'carol@other.example')
  const code = String((await nextCode()).data.code)
  const challenge = /name="challenge" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  for (const user of ['carol', 'dave']) {
    const other = await signedIn(user)
    const own = await other.get('/account/email')
    const form_token = /name="form_token" value="([^"]+)"/.exec(own.text)?.[1] ?? ''
    assert.equal((await other.post('/account/email/confirm', { form_token, challenge, code })).status, 400, user)
  }
  const wrong = String((Number(code) + 1) % 1_000_000).padStart(6, '0')
  for (let i = 0; i < 5; i++) assert.equal((await browser.submit(page, { code: wrong })).status, 400)
  assert.match((await browser.submit(page, { code })).text, /Start again/)
  const again = await requestEmail(browser, 'carol@other.example')
  const late = String((await nextCode()).data.code)
  clock.advance(10 * 60_000)
  assert.equal((await browser.submit(again, { code: late })).status, 400)
  assert.equal((await accountOf('carol'))?.email, 'carol@example.com')
})

test('a user name that is the address follows it, another one stays', async () => {
  const { updateUser } = running.identity.management
  await updateUser('dave', { email_verified: true })
  const browser = await signedIn('dave')
  const changeTo = async (email: string) => {
    const page = await requestEmail(browser, email)
    assert.match((await browser.submit(page, { code: String((await nextCode()).data.code) })).text, /address confirmed/)
  }
  await changeTo('dave@chosen.example')
  assert.equal((await accountOf('dave'))?.username, 'dave')
  await updateUser('dave', { username: 'dave@chosen.example' })
  await changeTo('dave@next.example')
  assert.equal((await accountOf('dave'))?.username, 'dave@next.example')
  const other = new TestBrowser(running)
  assert.match((await other.signIn(await other.get('/account'), 'dave@next.example', password)).text, /Your account/)
  await updateUser('dave', { username: 'dave', email: 'dave@example.com', email_verified: true })
})

test('a pending change of the address ends with one by an administrator, or of the credentials', async () => {
  const { updateUser } = running.identity.management
  const renewCredentials = () =>
    running.database.query("UPDATE identity.account SET credential_version = gen_random_uuid() WHERE id = 'carol'")
  for (const change of [
    () => updateUser('carol', { email: 'carol@admin.example', email_verified: true }),
    renewCredentials,
  ]) {
    const browser = await signedIn('carol')
    const page = await requestEmail(browser, 'carol@thief.example')
    const code = String((await nextCode()).data.code)
    await change()
    const { email } = (await accountOf('carol')) ?? {}
    assert.match((await browser.submit(page, { code })).text, /Start again/)
    assert.equal((await accountOf('carol'))?.email, email)
    await updateUser('carol', { email: 'carol@example.com', email_verified: true })
    await takeMails(running.database)
  }
})

test('a user downloads everything that is kept about them, and no secret', async () => {
  const browser = await signedIn('carol')
  await running.database.query(
    `INSERT INTO identity.audit_event (id, at, type, actor, subject, address, details)
     SELECT gen_random_uuid(), 1, 'management', 'an-administrator', 'carol', '192.0.2.99', '{}' FROM generate_series(1, 1200)`,
  )
  const response = await browser.get('/account/data')
  assert.match(String(response.headers['content-disposition']), /attachment/)
  assert.equal(response.headers['cache-control'], 'no-store')
  for (const part of [
    'passkeys',
    'providers',
    'factors',
    'remembered_devices',
    'organizations',
    'former_organizations',
  ])
    assert.ok(Array.isArray((response.body as Record<string, unknown>)[part]), part)
  const { profile, sessions, consents, apps, api_keys: keys, events } = response.body as Record<string, object[]>
  assert.equal((profile as unknown as { email: string }).email, 'carol@example.com')
  assert.ok((sessions?.length ?? 0) > 0)
  assert.deepEqual([consents, apps, keys], [[], [], []])
  assert.ok((events?.length ?? 0) > 1200, 'in several pages')
  assert.doesNotMatch(response.text, /argon2|hash|secret|an-administrator|192\.0\.2\.99/)
  assert.match(JSON.stringify(events), /"data_exported"/)
})

test('a deleted account ends everything, and the notification service is informed with it', async () => {
  await running.identity.management.createUser({ ...person('erin') })
  const browser = await signedIn('erin')
  const tokens = await getTokens(running, { browser })
  const page = await browser.get('/account/delete')
  assert.match((await browser.submit(page, { account: 'somebody' })).text, /not the name of your account/)
  assert.ok(await accountOf('erin'))
  await running.database.query("DELETE FROM identity.outbox WHERE kind = 'recipient'")
  assert.match((await browser.submit(page, { account: 'Erin@example.com' })).text, /Account deleted/)
  assert.equal(await accountOf('erin'), undefined)
  assert.equal(browser.cookies.has('gatehouse_session'), false)
  const refresh_token = tokens.refresh_token ?? ''
  const refreshed = await running.post('/token', { grant_type: 'refresh_token', refresh_token, ...webSecret })
  assert.equal(refreshed.body.error, 'invalid_grant')
  const { rows } = await running.database.query("SELECT subject FROM identity.outbox WHERE kind = 'recipient'")
  assert.deepEqual(rows, [{ subject: 'erin' }])
})

test('the last owner of an installation cannot delete their account', async () => {
  const browser = await signedIn('owner')
  const response = await browser.submit(await browser.get('/account/delete'), { account: 'owner' })
  assert.equal(response.status, 409)
  assert.match(response.text, /last owner/)
  assert.ok(await accountOf('owner'))
})

test('the account page shows when and on which device an app was last used', async () => {
  const browser = new TestBrowser(running, { 'user-agent': 'Mozilla/5.0 (iPhone) Safari/1' })
  const tokens = await getTokens(running, { browser, user: ['dave', password] })
  const usedAt = async () =>
    /Safari · iPhone: connected ([^<]*), last used ([^<]*)</.exec((await browser.get('/account')).text)
  const first = await usedAt()
  assert.equal(first?.[1], first?.[2])
  clock.advance(3_600_000)
  const refresh_token = tokens.refresh_token ?? ''
  await running.post('/token', { grant_type: 'refresh_token', refresh_token, ...webSecret })
  const later = await usedAt()
  assert.equal(later?.[1], first?.[1])
  assert.notEqual(later?.[2], first?.[2])
})

test('without mail the address cannot be changed', async () => {
  const { notify: _, ...withoutMail } = options
  const off = await setup(withoutMail)
  const browser = await signedIn('carol', off)
  assert.doesNotMatch((await browser.get('/account')).text, /\/account\/email/)
  assert.equal((await browser.get('/account/email')).status, 404)
  await off.close()
})

testWith('postgresql', 'of 20 uses of a code at once one changes the address', async () => {
  const server = await sharedPostgres()
  const database = await postgresDatabase(server, 20)
  const many = await setup(options, database)
  try {
    const browser = await signedIn('carol', many)
    const page = await browser.submit(await browser.get('/account/email'), { email: 'once@example.com' })
    const code = String((await nextCode(many)).data.code)
    const responses = await Promise.all(Array.from({ length: 20 }, () => browser.submit(page, { code })))
    assert.equal(responses.filter(({ status }) => status === 200).length, 1)
    assert.equal((await waitingMails(database)).length, 2, 'one notice to each address')
  } finally {
    await many.close()
    await database.close()
    await server.stop()
  }
})

testWith('postgresql', 'of a change by its user and one by an administrator at once the later one stands', async () => {
  const server = await sharedPostgres()
  const database = await postgresDatabase(server, 10)
  const at = await setup(options, database)
  try {
    const { updateUser } = at.identity.management
    for (let round = 0; round < 5; round++) {
      const browser = await signedIn('carol', at)
      const page = await requestEmail(browser, `carol@own${round}.example`)
      const code = String((await nextCode(at)).data.code)
      const admin = { email: `carol@admin${round}.example`, email_verified: true }
      const [own, other] = await Promise.allSettled([browser.submit(page, { code }), updateUser('carol', admin)])
      const isOwn = own.status === 'fulfilled' && own.value.status === 200
      const { rows } = await database.query<{ email: string }>("SELECT email FROM identity.account WHERE id = 'carol'")
      // Whoever read the account before the other changed it is refused; one of the two happens, or the later of both.
      assert.ok(isOwn || other.status === 'fulfilled')
      assert.equal(rows[0]?.email, other.status === 'fulfilled' ? admin.email : `carol@own${round}.example`)
    }
  } finally {
    await at.close()
    await database.close()
    await server.stop()
  }
})
