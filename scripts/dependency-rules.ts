/**
 * Checks the dependency rules: which package may import which, what feature folders and engines may be imported by, and
 * no import cycles. Prints every violation and exits with status 1.
 */
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readImports, sourceFiles } from './dependency-rules/imports.ts'
import { layout } from './dependency-rules/layout.ts'
import { findViolations } from './dependency-rules/rules.ts'

const root = resolve(import.meta.dirname, '..')
const packageFolders = ['packages', 'apps'].flatMap((group) =>
  readdirSync(join(root, group)).map((name) => `${group}/${name}/src`),
)
const imports = [...packageFolders, 'testing/src', 'fakes/src', 'bench']
  .flatMap((folder) => sourceFiles(root, folder))
  .flatMap((file) => readImports(root, file))

const violations = findViolations(imports, layout)
for (const line of violations) console.error(line)
console.log(
  violations.length === 0
    ? `dependency rules: ${imports.length} imports, no violation`
    : `dependency rules: violations: ${violations.length}`,
)
process.exitCode = violations.length === 0 ? 0 : 1
