/** `node bench/fleet/page.ts` writes the tables of docs/scale.md from costs.json; a test compares them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { readCosts } from './costs.ts'
import { fillIn, tablesOf } from './tables.ts'

const page = new URL('../../docs/scale.md', import.meta.url)
writeFileSync(page, fillIn(readFileSync(page, 'utf8'), tablesOf(readCosts())))
