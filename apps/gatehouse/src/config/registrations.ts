import { checkUserRole, findConnectionFaults, findDeclaredClientFaults } from '@gatehouse/identity'
import type { File } from './schema/file.ts'

type Fault = (path: ReadonlyArray<string | number>, expected: string) => void

/** Clients, connections and roles that identity would refuse: found before the database is opened. */
export function checkRegistrations({ clients = [], connections = [], users = [] }: File, fault: Fault): void {
  for (const [index, client] of clients.entries())
    for (const { pointer, detail } of findDeclaredClientFaults(client))
      fault(['clients', index, ...pointer.slice(1).split('/')], detail)
  for (const [index, { roles = [] }] of users.entries()) {
    for (const [position, role] of roles.entries()) {
      const detail = checkUserRole(role)
      if (detail !== undefined) fault(['users', index, 'roles', position], detail)
    }
  }
  for (const [index, connection] of connections.entries())
    for (const { pointer, detail } of findConnectionFaults(connection, loopbackAllowed))
      fault(['connections', index, ...pointer.slice(1).split('/')], detail)
}

/** Whether an issuer on this machine may be http depends on the settings: identity decides it. */
const loopbackAllowed = true
