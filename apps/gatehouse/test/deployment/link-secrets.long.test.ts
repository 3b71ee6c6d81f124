import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startSmtp } from '@gatehouse/fakes'
import { briefly, startPostgres, temporaryFolder, testWith } from '@gatehouse/testing'
import { Producer } from '../../src/demo/producer.ts'
import { root, started } from '../support/program.ts'
import { eventually } from '../support/shop.ts'

const clientSecret = 'the-secret-of-a-shop-whose-links-are-rotated'

function configuration(smtp: string): string {
  const file = join(temporaryFolder('links'), 'gatehouse.yaml')
  const shop = {
    client_id: 'shop',
    client_secret: clientSecret,
    grant_types: ['client_credentials'],
    scopes: ['write:notifications', 'admin:notifications'],
    plan: 'unlimited',
  }
  const content = {
    clients: [shop],
    event_types: [{ event: 'order.shipped', channels: ['email'] }],
    recipients: [{ user_id: 'alice', email: 'alice@example.com' }],
    providers: { email: [{ provider: 'smtp', url: smtp, from: 'Shop <shop@example.com>' }] },
  }
  writeFileSync(file, JSON.stringify(content))
  return file
}

function gatehouse(env: Readonly<Record<string, string>>, ...args: string[]) {
  return spawnSync(process.execPath, [...briefly, join(root, 'apps/gatehouse/src/cli.ts'), ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
    timeout: 60_000,
  })
}

testWith(
  'postgresql',
  'links of mails outlast a rotation on the command line, and end while the program runs if compromised',
  async (t) => {
    const [postgres, smtp] = await Promise.all([startPostgres(), startSmtp()])
    t.after(() => Promise.all([postgres.stop(), smtp.stop()]))
    const env = {
      GATEHOUSE_CONFIG: configuration(smtp.url),
      ENCRYPTION_KEY: 'the-key-of-a-deployment-whose-links-rotate',
      DATABASE_URL: postgres.url,
    }
    const program = await started({ env })
    t.after(() => program.stop())
    const shop = new Producer({ url: program.url, clientId: 'shop', clientSecret })
    const body = { subject: 'Shipped', body: 'It left.' }
    await shop.gatehouse.templates.update({ template_id: 'order.shipped', channel: 'email', locale: 'en', body })
    await shop.notify({ event: 'order.shipped', user_id: 'alice', data: {} })
    await eventually(
      async () => smtp.requests.length,
      (count) => count === 1,
    )
    const [, path = assert.fail()] = /(\/unsubscribe\/[\w.-]+)/.exec(JSON.stringify(smtp.requests)) ?? []
    const unsubscribe = async () =>
      (
        await fetch(program.url + path, {
          method: 'POST',
          body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
        })
      ).status
    const rotate = (...options: string[]) => {
      const { stdout, stderr, status } = gatehouse(env, 'links', 'rotate', ...options)
      assert.equal(status, 0, stderr)
      return JSON.parse(stdout)
    }

    const rotated = rotate()
    assert.equal(rotated.valid_secrets, 2)
    assert.ok(Date.parse(rotated.signs_from) > Date.now(), 'every process has read it by then')
    assert.equal(await unsubscribe(), 200)
    assert.equal(rotate('--compromised').valid_secrets, 1)
    await eventually(unsubscribe, (status) => status !== 200)
    const { stderr } = gatehouse(
      { ...env, ENCRYPTION_KEY: 'another-key-than-the-one-of-the-program' },
      'links',
      'rotate',
    )
    assert.match(stderr, /^gatehouse: the secret of links in mails can't be opened: the key [\w-]{8} is missing/)
    const withoutKey = gatehouse(
      { GATEHOUSE_CONFIG: env.GATEHOUSE_CONFIG, DATABASE_URL: postgres.url },
      'links',
      'rotate',
    )
    assert.match(withoutKey.stderr, /ENCRYPTION_KEY/)
  },
)
