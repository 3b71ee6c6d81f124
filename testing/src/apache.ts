import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { requireProgram, type Server, startServer, temporaryFolder } from './server.ts'
import { unprivileged } from './unprivileged.ts'

export interface ApacheOptions {
  readonly port: number
  /** Lines for its configuration. */
  readonly directives: readonly string[]
  /** What it serves, by path. */
  readonly files: Readonly<Record<string, string>>
}

const modules = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'dir', 'auth_openidc']

/** Starts Apache with mod_auth_openidc, a certified relying party, as one process. */
export async function startApache({ port, directives, files }: ApacheOptions): Promise<Server> {
  const program = requireProgram('libapache2-mod-auth-openidc')
  const folder = temporaryFolder('apache')
  const documents = join(folder, 'documents')
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(documents, name)), { recursive: true })
    writeFileSync(join(documents, name), text)
  }
  const lines = [
    `ServerRoot ${folder}`,
    'ServerName localhost',
    `Listen 127.0.0.1:${port}`,
    `PidFile ${folder}/pid`,
    `DefaultRuntimeDir ${folder}`,
    `ErrorLog ${folder}/error.log`,
    ...modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`),
    `DocumentRoot ${documents}`,
    'DirectoryIndex index.html',
    ...directives,
  ]
  const file = join(folder, 'apache.conf')
  writeFileSync(file, `${lines.join('\n')}\n`)
  const owner = unprivileged(['www-data', 'nobody'])
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const url = `http://localhost:${port}`
  return startServer({ program, args: ['-X', '-f', file], port, folder, url, ...owner })
}
