import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { Faults } from '../../../src/config/faults.ts'
import { FileSchema } from '../../../src/config/schema/file.ts'
import { publishedSchema } from '../../../src/config/schema/published.ts'
import { readYamlFile } from '../../../src/config/yaml-file.ts'
import { root } from '../../support/program.ts'

test('the published JSON Schema is what the program checks the file by', () => {
  assert.equal(readFileSync(join(root, 'apps/gatehouse/gatehouse.schema.json'), 'utf8'), publishedSchema())
})

for (const file of [
  'gatehouse.yaml',
  'examples/demo.yaml',
  'examples/sign-in/gatehouse.yaml',
  'apps/gatehouse/test/support/production.yaml',
]) {
  test(`${file} is without fault, and names the published schema for editors`, () => {
    const path = join(root, file)
    const faults = new Faults()
    readYamlFile(path, FileSchema, { DEMO_SECRET: 'a-secret-of-the-demo' }, faults)
    faults.throwIfAny()
    assert.match(readFileSync(path, 'utf8'), /^# yaml-language-server: \$schema=\S*gatehouse\.schema\.json\n/)
  })
}

test('compose.yaml sets only variables that the operations guide knows', () => {
  const compose = parse(readFileSync(join(root, 'compose.yaml'), 'utf8')) as {
    services: Record<string, { environment?: Record<string, string> }>
  }
  const guide = readFileSync(join(root, 'docs/operations.md'), 'utf8')
  const set = Object.keys(compose.services.gatehouse?.environment ?? {})
  assert.ok(set.includes('DATABASE_URL'))
  assert.deepEqual(
    set.filter((name) => !guide.includes(`\`${name}\``)),
    [],
  )
})

test('the Dockerfile knows every workspace of the lock file', () => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: object }
  const workspaces = Object.keys(lock.packages).filter((path) => path !== '' && !path.includes('node_modules/'))
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')
  assert.ok(workspaces.includes('apps/gatehouse'))
  assert.deepEqual(
    workspaces.filter((path) => !dockerfile.includes(`COPY ${path}/package.json ${path}/\n`)),
    [],
  )
})
