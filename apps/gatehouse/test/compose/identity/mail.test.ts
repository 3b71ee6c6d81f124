import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { defaultLifetimes, identityEvents, phoneCodeEvent } from '@gatehouse/identity'
import { readTemplates } from '@gatehouse/notify'
import { freePort, temporaryFolder } from '@gatehouse/testing'
import { reservedForIdentity } from '../../../src/compose/identity/mail.ts'
import { readConfig } from '../../../src/config/config.ts'
import { sharedSecrets } from '../../support/apart.ts'
import { type Program, started } from '../../support/program.ts'

const secret = 'a-secret-of-more-than-enough-letters'
const client = (client_id: string, scopes: string[]) => ({
  client_id,
  client_secret: secret,
  grant_types: ['client_credentials'],
  scopes,
  plan: 'unlimited',
})

const configuration = {
  clients: [
    client('comms', ['admin:notifications', 'write:notifications', 'read:personal-data']),
    client('people', ['admin:users']),
  ],
  users: [{ id: 'alice', email: 'alice@home.example', email_verified: true }],
}

function written(content: object): string {
  const file = join(temporaryFolder('identity-mails'), 'gatehouse.yaml')
  writeFileSync(file, JSON.stringify(content))
  return file
}

interface Message {
  readonly user_id: string
  readonly address: string
  readonly body: string
}

/** Where everything is asked for, and where the mailbox is read. */
interface Place {
  readonly front: string
  readonly mailbox: string
  readonly programs: readonly Program[]
}

async function together(): Promise<Place> {
  const program = await started({ env: { GATEHOUSE_CONFIG: written(configuration) } })
  return { front: program.url, mailbox: program.url, programs: [program] }
}

async function apart(): Promise<Place> {
  const [identityPort, notifyPort] = [await freePort(), await freePort()]
  const urls = { identity: `http://localhost:${identityPort}`, notify: `http://localhost:${notifyPort}` }
  const env = {
    ...sharedSecrets,
    GATEHOUSE_CONFIG: written(configuration),
    AUTH_URL: urls.identity,
    BASE_URL: urls.notify,
  }
  const identity = await started({
    port: identityPort,
    env: { ...env, SERVICES: 'identity', NOTIFY_URL: urls.notify },
  })
  const notify = await started({ port: notifyPort, env: { ...env, SERVICES: 'notify', IDENTITY_URL: urls.identity } })
  return { front: urls.identity, mailbox: urls.notify, programs: [notify, identity] }
}

for (const [where, start] of [
  ['in one process', together],
  ['in two processes', apart],
] as const)
  describe(`identity and notify ${where}`, () => {
    let place: Place
    let token: string
    before(async () => {
      place = await start()
      token = await tokenOf(place.front, 'comms')
    })
    after(async () => {
      for (const program of place.programs) assert.equal((await program.stop()).code, 0)
    })

    const manage = async (method: string, path: string, body?: object): Promise<number> => {
      const answer = await fetch(`${place.mailbox}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      await answer.body?.cancel()
      return answer.status
    }
    const messages = async (): Promise<Message[]> => {
      const answer = await fetch(`${place.mailbox}/dev/mailbox`, { headers: { accept: 'application/json' } })
      return ((await answer.json()) as { messages: Message[] }).messages
    }

    test('whoever manages notifications gets no mail that resets a password', async () => {
      assert.equal(await manage('PUT', '/v1/recipients/alice', { email: 'mallory@evil.example' }), 200)
      assert.equal(await manage('PUT', '/v1/users/alice/preferences/*', { channels: ['sms'] }), 200)
      const words = { subject: 'Reset', body: 'https://evil.example/?{{ link }}' }
      assert.equal(await manage('PUT', '/v1/templates/reset_password/email/en', words), 403)
      assert.equal(await manage('PUT', '/v1/event-types/reset_password', { channels: ['push'] }), 403)
      await resetPassword(place.front)
      const mails = await until(messages, (all) => all.length > 0)
      const [mail] = mails
      assert.equal(mail?.address, 'alice@home.example')
      assert.match(mail?.body ?? '', new RegExp(`${place.front}/password/reset\\?token=`))
      assert.doesNotMatch(JSON.stringify(mails), /mallory|evil/)
    })

    test('whoever produces notifications sends no mail in the name of identity', async () => {
      const request = { event: 'reset_password', user_id: 'alice', data: { link: 'https://evil.example' } }
      assert.equal(await manage('POST', '/v1/notify', request), 403)
      const mail = { ...request, email: 'alice@home.example' }
      assert.equal(await manage('POST', '/v1/reserved-mails', mail), 403)
    })
  })

async function tokenOf(url: string, clientId: string): Promise<string> {
  const answer = await fetch(`${url}/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: secret }),
  })
  return ((await answer.json()) as { access_token: string }).access_token
}

async function resetPassword(front: string): Promise<void> {
  const answer = await fetch(`${front}/admin/v1/users/alice/mail`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await tokenOf(front, 'people')}`, 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'reset' }),
  })
  assert.equal(answer.status, 204, await answer.text())
}

async function until<T>(read: () => Promise<T>, wanted: (value: T) => boolean): Promise<T> {
  for (const deadline = Date.now() + 60_000; ; ) {
    const value = await read()
    if (wanted(value)) return value
    assert.ok(Date.now() < deadline, JSON.stringify(value))
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

test('the file declares no event type of the names of the mails of identity', async () => {
  const file = written({ event_types: [{ event: 'reset_password', channels: ['sms'] }] })
  await assert.rejects(
    readConfig({ GATEHOUSE_CONFIG: file }),
    /event_types\.0\.event is identity's own: reset_password/,
  )
})

test('the file has no event type speak in the words of the mails of identity', async () => {
  const file = written({ event_types: [{ event: 'lure', channels: ['email'], template_id: 'reset_password' }] })
  await assert.rejects(
    readConfig({ GATEHOUSE_CONFIG: file }),
    /event_types\.0\.template_id is of a mail of identity: reset_password/,
  )
})

test('the file gives no API key the mails of identity', async () => {
  const key = { id: 'shop', key_hash: `sha256:${'0'.repeat(64)}`, scopes: ['read:settings', 'write:reserved-mails'] }
  const GATEHOUSE_CONFIG = written({ api_keys: [key] })
  await assert.rejects(
    readConfig({ GATEHOUSE_CONFIG, SERVICES: 'notify', IDENTITY_URL: 'http://localhost:1' }),
    /api_keys\.0\.scopes must not have write:reserved-mails/,
  )
})

test('each mail of identity with a link expires when its link does', () => {
  const { verifyLink, resetLink, signInLink } = defaultLifetimes
  const { eventTypes } = reservedForIdentity([])
  const lifetimes = new Map(eventTypes.map(({ event, ttl_seconds }) => [event, ttl_seconds]))
  assert.deepEqual(
    ['verify_email', 'reset_password', 'confirm_sign_in', 'confirm_registration'].map((event) => lifetimes.get(event)),
    [verifyLink, resetLink, signInLink, verifyLink],
  )
  assert.deepEqual([...lifetimes.keys()].sort(), [...identityEvents].sort())
  const texted = eventTypes.filter(({ channels }) => channels.includes('sms'))
  assert.deepEqual(
    texted.map(({ event, channels, ttl_seconds }) => [event, channels, ttl_seconds]),
    [[phoneCodeEvent, ['sms'], defaultLifetimes.emailCode]],
  )
})

test('each mail of identity has a text in English and in German, with a subject and its link', async () => {
  const texts = await readTemplates(new URL('../../../templates/', import.meta.url))
  for (const event of identityEvents)
    for (const locale of ['en', 'de']) {
      const text = texts.find((one) => one.templateId === event && one.locale === locale)
      assert.ok(text, `${event} ${locale}`)
      if (event === phoneCodeEvent) {
        assert.match(text.body, /@\{\{ host \}\} #\{\{ code \}\}\n$/, 'browsers fill the code in at this host alone')
        continue
      }
      assert.ok(text.subject, `${event} ${locale}`)
      assert.match(text.body, /\{\{ link \}\}/)
      assert.doesNotMatch(text.body + text.subject, /token/)
    }
})
