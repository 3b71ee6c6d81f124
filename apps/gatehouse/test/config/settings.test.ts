import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StartError } from '@gatehouse/kit'
import { Faults } from '../../src/config/faults.ts'
import { readSettings } from '../../src/config/settings.ts'

function setup(environment: Record<string, string>) {
  const faults = new Faults()
  const settings = readSettings(environment, faults)
  const lines = (() => {
    try {
      faults.throwIfAny()
      return []
    } catch (error) {
      assert.ok(error instanceof StartError)
      return error.message.split('\n')
    }
  })()
  return { settings, lines }
}

test('without a setting everything runs on embedded engines at localhost:8080', () => {
  const { settings, lines } = setup({})
  assert.deepEqual(lines, [])
  assert.deepEqual([...settings.services], ['identity', 'notify', 'gateway', 'console'])
  assert.deepEqual(
    [settings.host, settings.port, settings.baseUrl, settings.authUrl],
    ['127.0.0.1', 8080, 'http://localhost:8080', 'http://localhost:8080'],
  )
})

const production = {
  DATABASE_URL: 'postgres://localhost/gatehouse',
  ENCRYPTION_KEY: 'Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg',
  BASE_URL: 'https://api.example.com',
  AUTH_URL: 'https://login.example.com',
  TRUSTED_PROXIES: 'none',
  SMTP_URL: 'smtp://localhost',
}

test('with a database of its own the console runs where it has an origin of its own', () => {
  const without = setup(production)
  assert.deepEqual([without.lines, [...without.settings.services]], [[], ['identity', 'notify', 'gateway']])
  const { lines, settings } = setup({ ...production, CONSOLE_URL: 'https://console.example.com/' })
  assert.deepEqual([lines, [...settings.services].includes('console')], [[], true])
  assert.deepEqual([settings.console.url, settings.console.ownOrigin], ['https://console.example.com', true])
})

test('where others reach the APIs and pages the console runs only at an origin of its own', () => {
  const image = { BASE_URL: 'https://gh.example.com', SMTP_URL: 'smtp://localhost', TRUSTED_PROXIES: 'none' }
  const byDefault = setup(image)
  assert.deepEqual([byDefault.lines, [...byDefault.settings.services]], [[], ['identity', 'notify', 'gateway']])
  for (const environment of [
    { SERVICES: 'identity,gateway,console' },
    { CONSOLE_URL: 'https://gh.example.com' },
    { BASE_URL: 'http://192.0.2.1:8080', SERVICES: 'identity,console' },
  ]) {
    const { lines } = setup({ ...image, ...environment })
    assert.match(lines.join('\n'), /^CONSOLE_URL: must be an origin of its own/m, JSON.stringify(environment))
  }
  const { lines, settings } = setup({ ...image, CONSOLE_URL: 'https://console.example.com' })
  assert.deepEqual([lines, settings.services.has('console')], [[], true])
  const local = setup({ BASE_URL: 'http://127.0.0.1:9000' })
  assert.deepEqual([local.lines, local.settings.services.has('console')], [[], true])
})

for (const [what, environment, named] of [
  ['without an origin', { SERVICES: 'identity,console' }, 'CONSOLE_URL'],
  ['at the origin of the APIs', { CONSOLE_URL: 'https://api.example.com' }, 'CONSOLE_URL'],
  ['at the origin of the issuer', { CONSOLE_URL: 'https://login.example.com' }, 'CONSOLE_URL'],
  ['at another port of the APIs', { CONSOLE_URL: 'https://api.example.com:8443' }, 'CONSOLE_URL'],
  ['below a path', { CONSOLE_URL: 'https://console.example.com/admin' }, 'CONSOLE_URL'],
  ['over plain http', { CONSOLE_URL: 'http://console.example.com' }, 'CONSOLE_URL'],
  ['apart, without a secret', { SERVICES: 'console', CONSOLE_URL: 'https://c.example.com' }, 'CONSOLE_CLIENT_SECRET'],
] as const)
  test(`a console ${what} is refused at the start`, () => {
    const { lines } = setup({ ...production, ...environment })
    assert.deepEqual([...new Set(lines.map((line) => line.split(':')[0]))], [named])
  })

test('on this machine another port is an origin of its own', () => {
  const local = { ...production, BASE_URL: 'http://localhost:8080', AUTH_URL: 'http://localhost:8080' }
  const { lines, settings } = setup({ ...local, CONSOLE_URL: 'http://localhost:8083' })
  assert.deepEqual([lines, settings.console.ownOrigin], [[], true])
})

test('the console is not at the address at which this process reaches its own services', () => {
  for (const [environment, own] of [
    [{ CONSOLE_URL: 'http://127.0.0.1:8080' }, 'http://127.0.0.1:8080'],
    [{ CONSOLE_URL: 'https://127.0.0.1:8080', HOST: '0.0.0.0' }, 'http://127.0.0.1:8080'],
    [{ CONSOLE_URL: 'http://[::1]:9000', HOST: '::', PORT: '9000' }, 'http://[::1]:9000'],
    [
      {
        CONSOLE_URL: 'http://localhost:8080',
        HOST: 'localhost',
        BASE_URL: 'http://127.0.0.1:8080',
        AUTH_URL: 'http://127.0.0.1:8080',
      },
      'http://localhost:8080',
    ],
  ] as const) {
    const { lines } = setup({ BASE_URL: 'http://localhost:8080', ...environment })
    const expected = `CONSOLE_URL: must not be at the host and port of ${own}, where this process reaches its own services`
    assert.ok(
      lines.some((line) => line.startsWith(expected)),
      `${JSON.stringify(environment)}: ${lines}`,
    )
  }
  const alone = { SERVICES: 'console', AUTH_URL: 'http://localhost:8081', CONSOLE_CLIENT_SECRET: 'secret' }
  for (const environment of [
    { CONSOLE_URL: 'http://127.0.0.1:8080', ...alone },
    { CONSOLE_URL: 'http://127.0.0.1:8083' },
    { CONSOLE_URL: 'http://127.0.0.1:8080', BASE_URL: 'http://127.0.0.1:8080' },
  ])
    assert.deepEqual(
      setup({ BASE_URL: 'http://localhost:8080', ...environment }).lines,
      [],
      JSON.stringify(environment),
    )
})

test('the issuer and the base URL follow the port, can be set, and lose a trailing slash', () => {
  const { settings } = setup({ PORT: '9000', AUTH_URL: 'https://id.example.com/' })
  assert.deepEqual([settings.baseUrl, settings.authUrl], ['http://localhost:9000', 'https://id.example.com'])
})

test('every wrong setting is named at once, with what was expected', () => {
  const { lines } = setup({
    PORT: '80800',
    SERVICES: 'identity,mail',
    BASE_URL: 'ftp://x',
    DATABASE_URL: 'mysql://root:hunter2@x',
    LOG_LEVEL: 'loud',
    SERVICE_CLIENT_ID: 'services',
    ENCRYPTION_KEY: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  })
  assert.deepEqual(lines.map((line) => line.split(':')[0]).sort(), [
    'BASE_URL',
    'DATABASE_URL',
    'ENCRYPTION_KEY',
    'LOG_LEVEL',
    'PORT',
    'SERVICES',
    'SERVICE_CLIENT_SECRET',
  ])
  assert.ok(!lines.join().includes('hunter2'))
})

test('an address that is shown to administrators has no password, not even without a user', () => {
  const { lines } = setup({ BASE_URL: 'http://:secret@localhost', AUTH_URL: 'http://user:secret@localhost' })
  assert.deepEqual(lines.map((line) => line.split(':')[0]).sort(), ['AUTH_URL', 'BASE_URL'])
})

test('the encryption key is required in production, and an empty variable counts as unset', () => {
  const { lines } = setup({ DATABASE_URL: 'postgres://localhost/gatehouse', ENCRYPTION_KEY: '' })
  assert.match(lines.join(), /^ENCRYPTION_KEY: is required with DATABASE_URL/)
  assert.deepEqual(setup({ DATABASE_URL: 'postgres://localhost/gatehouse', SERVICES: 'notify' }).lines, [])
})

test('a URL with an unencoded password is refused with how to write it, and without it', () => {
  const { lines } = setup({ REDIS_URL: 'redis://localhost', SMTP_URL: 'smtp://user:hun/ter#2@mail.example.com' })
  assert.deepEqual(lines, [
    'SMTP_URL: must be a URL with smtp:// or smtps://; this one cannot be read: write special characters of the user and the password percent-encoded, such as %2F for /',
  ])
  const { lines: others } = setup({ NATS_URL: 'nats://user:hun/ter#2@nats.example.com' })
  assert.match(others.join('\n'), /^NATS_URL: must be a URL with nats:.*percent-encoded, such as %2F for \/$/)
})

test('a TLS mode of PostgreSQL that does not exist is refused with those that do', () => {
  const url = (parameters: string) => ({ ...production, DATABASE_URL: `postgres://u:secret@localhost/db${parameters}` })
  const expected = 'sslmode must be one of disable, no-verify, prefer, require, verify-ca, verify-full, not "requir"'
  assert.deepEqual(setup(url('?sslmode=requir')).lines, [`DATABASE_URL: ${expected}`])
  const pooler = { ...url(''), DATABASE_SESSION_URL: 'postgres://u:secret@localhost/db?sslmode=requir' }
  assert.deepEqual(setup(pooler).lines, [`DATABASE_SESSION_URL: ${expected}`])
  for (const parameters of ['', '?sslmode=verify-full&sslrootcert=/etc/ca.pem', '?sslmode=disable'])
    assert.deepEqual(setup(url(parameters)).lines, [], parameters)
})

test('metrics may have the same port at another address', () => {
  assert.deepEqual(setup({ PORT: '9000', METRICS_PORT: '9000', METRICS_HOST: '127.0.0.2' }).lines, [])
})

for (const from of ['no-reply@example.com', 'Shop <no-reply@localhost>', '"Shop, Inc." <no-reply@example.com>'])
  test(`mail is sent from ${from}`, () => {
    assert.deepEqual(setup({ MAIL_FROM: from }).lines, [])
  })

test('encryption keys are read in order, and an invalid one is reported by its position', () => {
  const [first, second] = ['zX9-kq3vTn2_pWs7Lm4Rb8Yc1Dh6Fj5G', 'aB4-nm8wUy6_eQr1Kt3Vx5Zc9Gh2Jd7L']
  assert.equal(setup({ ENCRYPTION_KEY: `${first}, ${second}` }).settings.encryptionKey?.ids.length, 2)
  const { lines } = setup({ ENCRYPTION_KEY: `${first},too-short` })
  assert.match(lines.join(), /^ENCRYPTION_KEY: key 2 of 2: must be keys of at least 32 characters/)
  assert.ok(![first, 'too-short'].some((key) => lines.join().includes(key)))
})

for (const [environment, expected] of [
  [{ ISSUER: 'https://idp.example' }, /ISSUER: must not be set where identity runs/],
  [{ SERVICES: 'notify', ISSUER: 'idp.example' }, /ISSUER: must be an http/],
  [
    { SERVICES: 'notify', ISSUER: 'http://idp.example' },
    /ISSUER: must be https, except on this machine, not "http:\/\/idp.example"/,
  ],
  [{ MAIL_FROM: 'nobody' }, /MAIL_FROM: must be an address such as no-reply@example.com or Shop <no-reply@/],
  [{ MAIL_FROM: 'Shop <no-reply>' }, /MAIL_FROM: must be an address/],
  [{ PORT: '9000', METRICS_PORT: '9000' }, /METRICS_PORT: must not be 9000, the PORT/],
  [{ PORT: '9000', METRICS_PORT: '9000', METRICS_HOST: '0.0.0.0' }, /METRICS_PORT: must not be 9000/],
  [
    { DATABASE_SESSION_URL: 'postgres://localhost/gatehouse' },
    /DATABASE_SESSION_URL: must be set together with DATABASE_URL/,
  ],
  [
    { SERVICES: 'notify', ISSUER: 'https://idp.example', AUTH_URL: 'https://id.example' },
    /AUTH_URL: must not be set with/,
  ],
  [
    { SERVICES: 'notify', ISSUER: 'https://idp.example', IDENTITY_URL: 'http://id' },
    /IDENTITY_URL: must not be set with/,
  ],
  [
    { SERVICES: 'notify', ISSUER: 'https://idp.example', ISSUER_TOKEN_TYPES: 'jwt' },
    /ISSUER_TOKEN_TYPES: must be at\+jwt/,
  ],
  [{ SERVICES: 'notify', ISSUER_ACR_VALUES: '1,2' }, /ISSUER_ACR_VALUES: must be set together with ISSUER/],
  [
    { SERVICES: 'notify', ISSUER: 'https://idp.example', ISSUER_ADMIN_SCOPES: 'admin:notification' },
    /ISSUER_ADMIN_SCOPES: must name scopes of management/,
  ],
  [
    { SERVICES: 'notify', ISSUER_ADMIN_SCOPES: 'admin:notifications' },
    /ISSUER_ADMIN_SCOPES: must be set together with ISSUER/,
  ],
  [{ SERVICES: 'notify', ISSUER_AUDIENCE: 'api' }, /ISSUER_AUDIENCE: must be set together with ISSUER/],
] as const)
  test(`${JSON.stringify(environment)} is refused with what was expected`, () => {
    const { lines } = setup(environment)
    assert.equal(lines.length, 1, lines.join('\n'))
    assert.match(lines[0] ?? '', expected)
  })

test('an issuer that is not ours is kept to the letter, its audience is the base address', () => {
  const { settings, lines } = setup({ SERVICES: 'notify', ISSUER: 'https://idp.example/realm/' })
  assert.deepEqual(lines, [])
  const { issuer, baseUrl } = settings
  assert.deepEqual(issuer, {
    url: 'https://idp.example/realm/',
    audiences: [baseUrl],
    tokenTypes: ['at+jwt'],
    acrOrder: [],
  })
})
