/*
 * Runs a program of this repository on the Node that `npm ci` installed: `node scripts/node.mjs FILE [ARGUMENTS]`.
 * npm 11 links that Node into node_modules/.bin, so it is the one that runs this file; npm 10, which Node 20 and 22 come
 * with, installs it without the link. Plain JavaScript, for any Node from 18.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const oldestMajor = 26
const [file, ...programArguments] = process.argv.slice(2)
const program = resolve(file)

if (Number(process.versions.node.split('.')[0]) >= oldestMajor) {
  process.argv.splice(1, 2, program)
  await import(pathToFileURL(program).href)
} else runOn(installedNode())

/** The pinned Node of this platform. */
function installedNode() {
  const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const modules = fileURLToPath(new URL('../node_modules', import.meta.url))
  const binary = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node'
  const found = [`node-${platform}`, `node-bin-${platform}`]
    .map((name) => resolve(modules, name, binary))
    .find((path) => existsSync(path))
  if (found !== undefined) return found
  console.error(`gatehouse: Node ${oldestMajor} is needed, not ${process.version}: run npm ci, which installs it.`)
  return process.exit(1)
}

function runOn(node) {
  const child = spawn(node, [program, ...programArguments], { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  // A terminal sends it to both; twice would end the program at once.
  process.on('SIGINT', () => {})
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 1
    if (signal) console.error(`gatehouse: ended by ${signal}`)
  })
}
