/**
 * Checks the vocabulary: `node scripts/vocabulary.ts [path …]`. No word of the list (vocabulary/words.ts) stands in an
 * identifier, a file name, an SQL name or a text that a user reads; comments are free. Test titles and Markdown lines
 * keep their length. Prints every problem and exits with status 1.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { checkFile } from './vocabulary/check.ts'
import { uncheckedFiles } from './vocabulary/exceptions.ts'

const root = resolve(import.meta.dirname, '..')
const paths = process.argv.slice(2).map((path) => relative(root, resolve(path)) || '.')
const checked = /\.(ts|js|mjs|sql|lua|md|json|ya?ml|html|liquid|txt)$/
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...paths], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => checked.test(path) && existsSync(join(root, path)))
  .filter((path) => !uncheckedFiles.some((unchecked) => unchecked.path.test(path)))

const problems = files.flatMap((path) => checkFile(path, readFileSync(join(root, path), 'utf8')))
for (const problem of problems) console.error(problem)
console.log(`vocabulary: files: ${files.length}, problems: ${problems.length}`)
process.exitCode = problems.length === 0 ? 0 : 1
