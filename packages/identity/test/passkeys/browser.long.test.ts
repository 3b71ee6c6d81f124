import assert from 'node:assert/strict'
import { after, before, beforeEach } from 'node:test'
import { testWith } from '@gatehouse/testing'
import type { Page } from 'playwright-core'
import type { NotifyRequest } from '../../src/index.ts'
import { PasskeyDevice } from '../support/factors/virtual-authenticator.ts'
import { type LiveIdentity, startIdentity } from '../support/live.ts'

/** A user for each test: whoever has a passkey needs it to add another. */
const people = Array.from({ length: 20 }, (_, n) => ({
  id: `person-${n}`,
  password: 'correct horse',
  email: `person-${n}@example.com`,
  email_verified: true,
}))
let person = { id: '', email: '' }
let begun = 0

let server: LiveIdentity
const mails: NotifyRequest[] = []
before(async () => {
  const notify = async (mail: NotifyRequest) => void mails.push(mail)
  server = await startIdentity({ users: people }, { registration: true }, { notify })
})
beforeEach(() => {
  person = people[begun++] ?? assert.fail('too few people')
})
after(() => server.close())

const account = () => `${server.issuer}/account`
const button = '[data-passkey] button'
const heading = (page: Page) => page.textContent('h1')
const failure = (page: Page) => page.locator('[role=alert]').textContent()
const notice = (page: Page) => page.locator('[role=status]:not([hidden])').textContent()

/** Signs the user in by the password and opens the page that adds a passkey. */
async function openRegistration({ page }: PasskeyDevice): Promise<void> {
  await page.goto(`${account()}/passkeys/new`)
  await page.fill('#username', person.id)
  await page.fill('#password', 'correct horse')
  await page.click('button')
  await page.waitForSelector('#name', { state: 'attached' })
}

/** Adds a passkey of the device to the account of the user. */
async function register(device: PasskeyDevice, name: string = 'My laptop'): Promise<void> {
  const { page } = device
  await openRegistration(device)
  await page.fill('#name', name)
  await page.click(button)
  await page.waitForURL(`${account()}/passkeys`)
}

async function signOut({ page }: PasskeyDevice): Promise<void> {
  await page.context().clearCookies()
  await page.goto('about:blank')
}

testWith('chromium', 'a passkey is added, and signs in from the autofill of the user name', async () => {
  await using device = await PasskeyDevice.start()
  const { page } = device
  await register(device)
  assert.match((await page.textContent('ul.rows')) ?? '', /My laptop/)
  assert.equal((await device.credentials()).length, 1)
  await signOut(device)
  await page.goto(account())
  await page.waitForSelector(`text=${person.email}`)
  assert.equal(await heading(page), 'Your account')
  assert.deepEqual(device.complaints, [])
})

testWith('chromium', 'a passkey signs in by the button', async () => {
  await using device = await PasskeyDevice.start()
  const { page } = device
  await device.withoutAutofill()
  await register(device)
  await signOut(device)
  await page.goto(account())
  assert.equal(await page.textContent(button), 'Sign in with a passkey')
  await page.click(button)
  await page.waitForSelector(`text=${person.email}`)
  assert.deepEqual(device.complaints, [])
})

testWith('chromium', 'a cancelled passkey leaves the page usable, and the password signs in', async () => {
  await using device = await PasskeyDevice.start()
  const { page } = device
  await device.withoutAutofill()
  await register(device)
  await signOut(device)
  await device.setUserVerified(false)
  await page.goto(account())
  await page.click(button)
  assert.equal(await notice(page), 'This was cancelled or took too long. You can try again.')
  await page.fill('#username', person.id)
  await page.fill('#password', 'correct horse')
  await page.click('button')
  await page.waitForSelector(`text=${person.email}`)
})

testWith('chromium', 'a cancelled registration can be repeated on the same page', async () => {
  await using device = await PasskeyDevice.start()
  const { page } = device
  await device.setUserVerified(false)
  await openRegistration(device)
  await page.click(button)
  assert.equal(await notice(page), 'This was cancelled or took too long. You can try again.')
  assert.equal((await device.credentials()).length, 0)
  await device.setUserVerified(true)
  await page.click(button)
  await page.waitForURL(`${account()}/passkeys`)
})

testWith('chromium', 'an account begins with a passkey alone, also after a cancelled attempt', async () => {
  await using device = await PasskeyDevice.start()
  const { page } = device
  await device.withoutAutofill()
  await page.goto(`${server.issuer}/register`)
  await page.fill('#email', 'nora@example.com')
  await page.click('button')
  let link: unknown
  while (link === undefined) {
    link = mails.find(({ email, data }) => email === 'nora@example.com' && data.link !== undefined)?.data.link
    await page.evaluate('new Promise(requestAnimationFrame)')
  }
  await page.goto(String(link))
  await page.fill('#name', 'Nora New')
  await device.setUserVerified(false)
  await page.click(button)
  assert.equal(await notice(page), 'This was cancelled or took too long. You can try again.')
  await device.setUserVerified(true)
  await page.click(button)
  await page.waitForSelector('text=Your account is ready')
  assert.equal((await device.credentials()).length, 1)
  await page.goto(account())
  await page.click(button)
  await page.waitForSelector('text=Nora New')
  await page.waitForSelector('text=Set a password')
  assert.deepEqual(device.complaints, [])
})

testWith('chromium', 'a device that has a passkey of the account gets no second one', async () => {
  await using device = await PasskeyDevice.start()
  const { page } = device
  await register(device)
  await page.goto(`${account()}/passkeys/new`)
  await page.click(button)
  assert.equal(await notice(page), 'This device already has a passkey for your account.')
  assert.equal((await device.credentials()).length, 1)
})

testWith('chromium', 'a passkey that was removed here is refused, and its device learns of it', async () => {
  await using device = await PasskeyDevice.start()
  const { page } = device
  await device.withoutAutofill()
  await register(device, 'Old phone')
  const [credential] = await device.credentials()
  await page.click('a[aria-label="Edit: Old phone"]')
  await page.click('button[value=remove]')
  await page.waitForURL(`${account()}/passkeys`)
  while ((await device.credentials()).length > 0) await page.evaluate('new Promise(requestAnimationFrame)')
  await device.add(credential ?? assert.fail())
  await signOut(device)
  await page.goto(account())
  await page.click(button)
  assert.match((await failure(page)) ?? '', /could not be used/)
})

for (const [name, override] of [
  ['a bogus signature', { isBogusSignature: true }],
  ['no user verification', { isBadUV: true }],
  ['no user presence', { isBadUP: true }],
] as const) {
  testWith('chromium', `a passkey with ${name} is refused`, async () => {
    await using device = await PasskeyDevice.start()
    const { page } = device
    await device.withoutAutofill()
    await register(device)
    await signOut(device)
    await device.override(override)
    await page.goto(account())
    await page.click(button)
    assert.match((await failure(page)) ?? '', /could not be used/)
  })
}

testWith('chromium', 'a passkey whose counter goes back is refused', async () => {
  await using device = await PasskeyDevice.start()
  const { page } = device
  await device.withoutAutofill()
  await register(device)
  const [credential = assert.fail()] = await device.credentials()
  for (let time = 0; time < 2; time++) {
    await signOut(device)
    await page.goto(account())
    await page.click(button)
    await page.waitForSelector(`text=${person.email}`)
  }
  await device.replace({ ...credential, signCount: 1 })
  await signOut(device)
  await page.goto(account())
  await page.click(button)
  assert.match((await failure(page)) ?? '', /could not be used/)
})

testWith('chromium', 'a page at a host that is not the relying party offers no passkey', async () => {
  await using device = await PasskeyDevice.start()
  const { page } = device
  await register(device)
  await signOut(device)
  await page.goto(account().replace('localhost', '127.0.0.1'))
  await page.click(button)
  assert.equal(await notice(page), 'Something went wrong. Reload the page and try again.')
})

testWith('chromium', 'without scripts the login page shows the password form only', async () => {
  await using device = await PasskeyDevice.start({ javaScriptEnabled: false })
  const { page } = device
  await page.goto(account())
  assert.equal(await page.locator(button).isVisible(), false)
  await openRegistration(device)
  assert.equal(await heading(page), 'Add a passkey')
  assert.equal(await page.locator(button).isVisible(), false)
  assert.match((await page.textContent('[data-without-passkeys]')) ?? '', /JavaScript/)
})
