/** Writes the JSON Schema of `gatehouse.yaml` for editors: `npm run schema`. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { publishedSchema } from './published.ts'

const path = fileURLToPath(new URL('../../../gatehouse.schema.json', import.meta.url))
writeFileSync(path, publishedSchema())
console.log(`wrote ${path}`)
