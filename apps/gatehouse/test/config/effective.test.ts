import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '@gatehouse/testing'
import fc from 'fast-check'
import { readConfig } from '../../src/config/config.ts'
import { effectiveValues } from '../../src/config/effective.ts'

const key = 'qK3v9Zt1xW8mB5cN7jR2pL6hF0dS4gYaUeTiOoVnXbE='

test('no secret of the environment is among the values', async () => {
  const secret = 'hunter2hunter2hunter2'
  const path = join(temporaryFolder('effective'), 'gatehouse.yaml')
  writeFileSync(path, `users: [{ id: alice, username: alice, password: ${secret} }]\nchannels: { sms: off }\n`)
  const { settings, file, folder } = await readConfig({
    GATEHOUSE_CONFIG: path,
    SERVICES: 'identity,notify,gateway',
    DATABASE_URL: `postgres://gatehouse:${secret}@db.example.com/gatehouse`,
    DATABASE_SESSION_URL: `postgres://gatehouse:${secret}@db.example.com/gatehouse`,
    REDIS_URL: `redis://:${secret}@redis.example.com`,
    NATS_URL: `nats://user:${secret}@nats.example.com`,
    SMTP_URL: `smtp://user:${secret}@mail.example.com`,
    PROMETHEUS_URL: `https://user:${secret}@prometheus.example.com`,
    ENCRYPTION_KEY: key,
    SERVICE_CLIENT_ID: 'service',
    SERVICE_CLIENT_SECRET: secret,
    CONSOLE_CLIENT_SECRET: secret,
  })
  const values = effectiveValues({ settings, file, folder })
  const text = JSON.stringify(values)
  assert.ok(!text.includes(secret) && !text.includes(key), text)
  // A setting that is new is one of these lists or it is not shown.
  const shown = values.filter(({ secret: isSecret }) => !isSecret).map(({ value }) => value)
  assert.ok(shown.every((value) => typeof value !== 'object'))
  assert.equal(values.filter(({ value }) => value === 'set').length, 9)
})

test('no text of the file is among the values, wherever it is and whatever it is', async () => {
  const { settings, folder } = await readConfig({ GATEHOUSE_CONFIG: '' })
  const anything = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.stringMatching(/^canary[a-z0-9]{8}$/),
      fc.integer(),
      fc.boolean(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), tie('value'), { maxKeys: 4 }),
    ),
  })).value
  const sections = ['clients', 'users', 'providers', 'connections', 'notify', 'api_keys', 'upstreams', 'engines', 'new']
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...sections), anything), (file) => {
      const text = JSON.stringify(effectiveValues({ settings, file: file as never, folder }))
      assert.doesNotMatch(text, /canary/)
    }),
  )
})

test('each value has its origin, and of a secret only whether there is one', async () => {
  const values = effectiveValues(
    await readConfig({ PORT: '8090', REDIS_URL: 'redis://localhost:6379', GATEHOUSE_CONFIG: '' }),
  )
  const find = (name: string) => values.find((value) => value.name === name)
  assert.deepEqual(find('PORT'), { name: 'PORT', origin: 'environment', value: 8_090, secret: false })
  assert.deepEqual(find('HOST'), { name: 'HOST', origin: 'default', value: '127.0.0.1', secret: false })
  assert.deepEqual(find('REDIS_URL'), { name: 'REDIS_URL', origin: 'environment', value: 'set', secret: true })
  assert.deepEqual(find('SMTP_URL'), { name: 'SMTP_URL', origin: 'default', value: 'unset', secret: true })
})
