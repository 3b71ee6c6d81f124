import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readCosts } from '../costs.ts'
import { planChecks, planNotifications } from '../plan.ts'
import { fillIn, tablesOf } from '../tables.ts'

test('docs/scale.md shows the tables that its costs give: node bench/fleet/page.ts writes them', () => {
  const page = readFileSync(new URL('../../../docs/scale.md', import.meta.url), 'utf8')
  assert.equal(page, fillIn(page, tablesOf(readCosts())))
  for (const name of Object.keys(tablesOf(readCosts())))
    assert.ok(page.includes(`<!-- computed: ${name} -->`), `the page has no table "${name}"`)
})

test('a plan grows with its load, and not faster', () => {
  const costs = readCosts()
  const [small, large] = [planNotifications(costs, 10_000), planNotifications(costs, 100_000)]
  for (const name of ['processes', 'databaseCores', 'distributedCores'] as const) {
    assert.ok(large[name] <= 10 * small[name], name)
    assert.ok(large[name] >= 10 * small[name] - 10, name)
  }
  assert.equal(large.walPerSecond, 10 * small.walPerSecond)
  assert.ok(planChecks(costs, 1_000_000).redisPrimaries > planChecks(costs, 100_000).redisPrimaries)
})

test('a page with a table that nobody computes is refused', () => {
  assert.throws(() => fillIn('<!-- computed: moons -->\n\nx\n\n<!-- end -->', {}), /moons/)
})
