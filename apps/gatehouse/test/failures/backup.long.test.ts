import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startSmtp } from '@gatehouse/fakes'
import { freePort, requireProgram, type Server, startPostgres, temporaryFolder, testWith } from '@gatehouse/testing'
import { Producer } from '../../src/demo/producer.ts'
import { readDeliveries } from '../../src/demo/settled.ts'
import { codeFor } from '../support/person.ts'
import { started } from '../support/program.ts'
import { eventually } from '../support/shop.ts'

const secret = 'the-secret-of-a-client-that-is-restored'
const password = 'the password of alice, who is restored'
const callback = 'https://app.example/callback'

function configuration(smtp: string): string {
  const file = join(temporaryFolder('backup'), 'gatehouse.yaml')
  const content = {
    clients: [
      {
        client_id: 'shop',
        client_secret: secret,
        grant_types: ['client_credentials'],
        scopes: ['write:notifications', 'read:notifications', 'admin:notifications'],
        plan: 'unlimited',
      },
      {
        client_id: 'web',
        client_secret: secret,
        redirect_uris: [callback],
        grant_types: ['authorization_code', 'refresh_token'],
        skip_consent: true,
        scopes: ['openid', 'offline_access', 'read:users'],
      },
    ],
    users: [{ id: 'alice', password, email: 'alice@example.com' }],
    notify: { cap: 1_000 },
    event_types: [{ event: 'order.shipped', channels: ['email'] }],
    recipients: [{ user_id: 'alice', email: 'alice@example.com' }],
    providers: { email: [{ provider: 'smtp', url: smtp, from: 'Shop <shop@example.com>' }] },
  }
  writeFileSync(file, JSON.stringify(content))
  return file
}

/** What an operator does: everything of one server, written to a file, is read into another that is empty. */
function copy(from: Server, to: Server): void {
  const file = join(temporaryFolder('dump'), 'gatehouse.dump')
  const run = (program: string, ...args: string[]) => execFileSync(requireProgram('postgresql', program), args)
  run('pg_dump', '--format=custom', `--file=${file}`, from.url)
  run('pg_restore', '--exit-on-error', '--no-owner', `--dbname=${to.url}`, file)
}

const post = (url: string, form: Record<string, string>) =>
  fetch(`${url}/token`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: 'web', client_secret: secret, ...form }),
  })

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

async function signIn(url: string): Promise<Tokens> {
  const code_verifier = randomBytes(32).toString('base64url')
  const code = await codeFor(
    url,
    { username: 'alice', password },
    {
      client_id: 'web',
      response_type: 'code',
      scope: 'openid offline_access read:users',
      code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
    },
  )
  return (await (await post(url, { grant_type: 'authorization_code', code, code_verifier })).json()) as Tokens
}

testWith(
  'postgresql',
  'what is restored from a dump sends nothing twice, loses nothing, and knows its tokens',
  async (t) => {
    const [original, restored, smtp, port] = await Promise.all([
      startPostgres(),
      startPostgres(),
      startSmtp(),
      freePort(),
    ])
    t.after(() => Promise.all([original.stop(), restored.stop(), smtp.stop()]))
    const env = {
      GATEHOUSE_CONFIG: configuration(smtp.url),
      ENCRYPTION_KEY: 'the-key-of-a-deployment-that-is-restored',
    }

    const first = await started({ port, env: { ...env, DATABASE_URL: original.url } })
    const shop = new Producer({ url: first.url, clientId: 'shop', clientSecret: secret })
    const body = { subject: 'Shipped', body: 'Order {{ id }} left.' }
    await shop.gatehouse.templates.update({ template_id: 'order.shipped', channel: 'email', locale: 'en', body })
    const send = (order: number) => {
      const data = { id: String(order) }
      return shop.notify({ event: 'order.shipped', user_id: 'alice', dedup_key: `order-${order}`, data })
    }
    const orders = Array.from({ length: 40 }, (_, order) => order)
    const sent = await Promise.all(orders.slice(0, 30).map(send))
    await eventually(
      async () => smtp.requests.length,
      (count) => count === 30,
    )
    smtp.answerNext({ status: 451, body: 'try later' }, 10)
    const waiting = await Promise.all(orders.slice(30).map(send))
    const { access_token, refresh_token } = await signIn(first.url)
    const renewed = (await (await post(first.url, { grant_type: 'refresh_token', refresh_token })).json()) as Tokens
    await first.stop()

    copy(original, restored)
    await original.stop()

    const second = await started({ port, env: { ...env, DATABASE_URL: restored.url } })
    t.after(() => second.stop())
    const again = await Promise.all(orders.slice(0, 30).map(send))
    assert.deepEqual(
      again.map(({ id }) => id),
      sent.map(({ id }) => id),
      'what was accepted before is known by its deduplication key',
    )
    const states = await readDeliveries(
      shop,
      [...again, ...waiting].map(({ id }) => id),
    )
    assert.deepEqual([states.length, states.filter(({ state }) => state !== 'sent')], [orders.length, []])
    // The notice of a new device is mailed as well.
    const texts = smtp.requests.flatMap(({ raw }) => /Order (\d+) left/.exec(raw)?.[1] ?? [])
    assert.deepEqual(
      texts.map(Number).sort((a, b) => a - b),
      orders,
      'each order was mailed once',
    )

    const user = await fetch(`${second.url}/users/alice`, { headers: { authorization: `Bearer ${access_token}` } })
    assert.equal(user.status, 200, 'an access token is good')
    assert.equal(
      (await post(second.url, { grant_type: 'refresh_token', refresh_token: renewed.refresh_token })).status,
      200,
    )
    assert.equal((await post(second.url, { grant_type: 'refresh_token', refresh_token })).status, 400)
  },
)
