import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, requireProgram, type Server, startServer, temporaryFolder } from '../server.ts'
import { unprivileged } from '../unprivileged.ts'

/** Starts PgBouncer in transaction mode before a server of {@link startPostgres}, with few connections to it. */
export async function startPgBouncer(serverUrl: string, serverConnections = 4): Promise<Server> {
  const program = requireProgram('pgbouncer')
  const { hostname, port: serverPort, username } = new URL(serverUrl)
  const port = await freePort()
  const folder = temporaryFolder('pgbouncer')
  const owner = unprivileged(['postgres', 'nobody'])
  const [settings, users] = [join(folder, 'pgbouncer.ini'), join(folder, 'users.txt')]
  writeFileSync(users, `"${username}" ""\n`)
  writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${serverPort} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${serverConnections}
max_client_conn = 500
logfile =
pidfile =
`,
  )
  if (owner) for (const path of [folder, settings, users]) chownSync(path, owner.uid, owner.gid)
  const url = new URL(serverUrl)
  url.port = String(port)
  return startServer({ program, args: ['-q', settings], port, folder, url: url.href, ...owner })
}
