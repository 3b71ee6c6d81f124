import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { notifyTables } from '@gatehouse/notify/postgres'
import { startRedis, testWith } from '@gatehouse/testing'
import { parse } from 'yaml'
import type { ApiDocument } from '../../src/docs/document.ts'
import { root, started } from '../support/program.ts'
import { pages } from './pages.ts'

/** What the text of the pages has between backticks, each with its page. */
const named = pages.flatMap(({ path, prose }) =>
  [...prose.matchAll(/`([^`]+)`/g)].map(([, code = '']) => ({ page: path, code: code.replaceAll('\n', ' ') })),
)

/** Metrics as the text names them; those of workers are reported by their supervisor alone. */
const metricName = /^((?:identity|notify|gateway|rate_limit|jwks|revocation|bearer)_\w+)(?:\{.*\})?$/

interface AlertRules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}

const alerts = (
  parse(readFileSync(join(root, 'examples/prometheus/alerts.yaml'), 'utf8')) as AlertRules
).groups.flatMap(({ rules }) => rules)

/** The metrics of alerts, each with the labels that it is selected by. */
const selected = alerts.flatMap(({ alert, expr }) =>
  [...expr.matchAll(/\b([a-z]+_\w+)(?:\{([^}]*)\})?/g)]
    .filter(([, name = '']) => metricName.test(name))
    .map(([, name = '', labels = '']) => ({
      alert,
      name,
      labels: [...labels.matchAll(/(\w+)=/g)].map(([, label = '']) => label),
    })),
)

test('every alert is explained, and no other', () => {
  const operations = pages.find(({ path }) => path === 'docs/operations.md')?.text ?? ''
  const rows = [...operations.matchAll(/^\| `(Gatehouse\w+)` \|/gm)].map(([, name]) => name)
  assert.deepEqual(
    rows,
    alerts.map(({ alert }) => alert),
  )
})

test('alerts select by labels that the documentation gives the metric', () => {
  const operations = pages.find(({ path }) => path === 'docs/operations.md')?.text ?? ''
  const labelled = selected.filter(({ labels }) => labels.length > 0)
  assert.ok(labelled.length > 5, String(labelled.length))
  for (const { name, labels } of labelled) {
    const [row = ''] = new RegExp(`^\\| .*\`${name}\`.*$`, 'm').exec(operations) ?? []
    for (const label of labels) assert.match(row.split('|')[2] ?? '', new RegExp(`\`${label}\``), `${name}: ${label}`)
  }
})

testWith(
  'redis-server',
  'every metric that the documentation or an alert names is one that the program has',
  async () => {
    const redis = await startRedis()
    const program = await started({ metrics: true, env: { REDIS_URL: redis.url } })
    try {
      const text = await (await fetch(program.metricsUrl)).text()
      const metrics = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
      const names = named.flatMap(({ page, code }) => {
        const [, name] = metricName.exec(code) ?? []
        return name === undefined || name === 'jwks_uri' ? [] : [{ page, name }]
      })
      names.push(...selected.map(({ alert: page, name }) => ({ page, name })))
      assert.ok(names.length > 60, String(names.length))
      assert.deepEqual(
        names.filter(({ name }) => !metrics.has(name)),
        [],
      )
    } finally {
      await program.stop()
      await redis.stop()
    }
  },
)

test('every request that the documentation names is an operation of the API document', async () => {
  const program = await started()
  try {
    const document = (await (await fetch(`${program.url}/openapi.json`)).json()) as ApiDocument
    const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path.replace(/\{[^}]*\}/g, '{}')}`),
    )
    const requests = named.flatMap(({ page, code }) => {
      const [, method, path = ''] = /^(GET|PUT|POST|PATCH|DELETE) (\/(?!dev\/)[^\s?[]*)/.exec(code) ?? []
      return method === undefined || path.includes('…') ? [] : [{ page, request: `${method} ${path}` }]
    })
    assert.ok(requests.length > 120, String(requests.length))
    assert.deepEqual(
      requests.filter(({ request }) => !operations.some((operation) => isOf(operation, request))),
      [],
    )
  } finally {
    await program.stop()
  }
})

/** Whether a request has the method and the segments of an operation; `{}` is any segment. */
function isOf(operation: string, request: string): boolean {
  const segments = operation.split('/')
  const written = request.split('/')
  const isSame = (segment: string, index: number) =>
    segment === '{}' || segment === written[index] || written[index]?.startsWith('{')
  return segments.length === written.length && segments.every(isSame)
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
}

/** Whether a setting of this name is in the schema of the file. */
function isSetting(schema: Schema | undefined, path: readonly string[]): boolean {
  if (schema === undefined) return false
  const [name, ...rest] = path
  if (name === undefined) return true
  const { additionalProperties: further } = schema
  const within = [
    schema.properties?.[name],
    typeof further === 'object' ? further : undefined,
    ...Object.entries(schema.patternProperties ?? {}).map(([pattern, each]) =>
      new RegExp(pattern).test(name) ? each : undefined,
    ),
  ]
  return (
    within.some((each) => isSetting(each, rest)) ||
    (schema.anyOf ?? []).some((each) => isSetting(each, path)) ||
    isSetting(schema.items, path)
  )
}

test('every setting of the file that the documentation names is in its schema', () => {
  const schema = JSON.parse(readFileSync(join(root, 'apps/gatehouse/gatehouse.schema.json'), 'utf8')) as Schema
  const sections = Object.keys(schema.properties ?? {})
  assert.ok(sections.includes('engines') && !isSetting(schema, ['engines', 'steam']))
  const operations = /^(?:users|templates)\./
  const tables = new Set(notifyTables.map(({ table }) => `notify.${table}`))
  const isOther = (code: string) => tables.has(code) || code.endsWith('.ts') || operations.test(code)
  const settings = named.filter(
    ({ code }) => /^\w+(?:\.\w+)+$/.test(code) && sections.includes(code.split('.')[0] ?? '') && !isOther(code),
  )
  assert.ok(settings.length > 30, String(settings.length))
  assert.deepEqual(
    settings.filter(({ code }) => !isSetting(schema, code.split('.'))),
    [],
  )
})

test('every environment variable that the documentation sets is one that the program reads', () => {
  const guide = readFileSync(join(root, 'docs/operations.md'), 'utf8').split('\n## ')[1] ?? ''
  const known = new Set([...guide.matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, name]) => name))
  assert.ok(known.size > 30)
  const set = named.flatMap(({ page, code }) => {
    const [, name] = /^([A-Z][A-Z_]{3,})=\S*(?: npm start)?$/.exec(code) ?? []
    return name === undefined || page === 'CONTRIBUTING.md' ? [] : [{ page, name }]
  })
  assert.ok(set.length > 5, String(set.length))
  assert.deepEqual(
    set.filter(({ name }) => !known.has(name)),
    [],
  )
})
