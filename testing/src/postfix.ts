import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, requireProgram, type Server, startServer, temporaryFolder } from './server.ts'

export interface PostfixOptions {
  /** A shell script that gets each mail for `bounces.test` on its standard input, and whom it is for as `$1`. */
  readonly handOver: string
}

export interface Postfix extends Server {
  /** The mails in the mailbox of `alice@example.test`, as they were stored. */
  delivered(): string[]
}

const daemons = '/usr/lib/postfix/sbin'

/**
 * Starts Postfix with a queue and a configuration of its own, without DNS. `example.test` has the mailbox alice; what is
 * for `later.test` and `full.test` is taken and then bounces, as an unknown user and as a full mailbox.
 */
export async function startPostfix({ handOver }: PostfixOptions): Promise<Postfix> {
  const program = requireProgram('postfix')
  const port = await freePort()
  const folder = temporaryFolder('postfix')
  chmodSync(folder, 0o755)
  const path = (name: string) => join(folder, name)
  const owner = (user: string) => Number(execFileSync('id', ['-u', user], { encoding: 'utf8' }))
  for (const name of ['queue', 'data', 'mail']) mkdirSync(path(name))
  chownSync(path('data'), owner('postfix'), 0)
  chownSync(path('mail'), owner('postfix'), 0)
  writeFileSync(path('hand-over'), handOver, { mode: 0o755 })
  writeFileSync(path('mailboxes'), 'alice@example.test alice/\n')
  writeFileSync(
    path('transport'),
    ['later.test no-such-user:', 'full.test mailbox-full:', 'bounces.test hand-over:', ''].join('\n'),
  )
  writeFileSync(path('main.cf'), settings(folder, owner('postfix')))
  writeFileSync(path('master.cf'), services(port, path('hand-over')))
  const url = `smtp://127.0.0.1:${port}`
  execFileSync(program, ['-c', folder, 'check'], { stdio: 'ignore' })
  const master = join(daemons, 'master')
  const server = await startServer({ program: master, args: ['-c', folder, '-s'], port, url, folder })
  return {
    ...server,
    delivered() {
      const place = join(folder, 'mail', 'alice', 'new')
      try {
        return readdirSync(place).map((name) => readFileSync(join(place, name), 'latin1'))
      } catch {
        return []
      }
    },
  }
}

function settings(folder: string, uid: number): string {
  return `
compatibility_level = 3.6
queue_directory = ${folder}/queue
data_directory = ${folder}/data
maillog_file = ${folder}/log
maillog_file_prefixes = ${folder}
command_directory = /usr/sbin
daemon_directory = ${daemons}
mail_owner = postfix
setgid_group = postdrop
myhostname = mx.test
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
smtpd_relay_restrictions = permit_mynetworks, reject
disable_dns_lookups = yes
smtp_dns_support_level = disabled
alias_maps =
alias_database =
virtual_mailbox_domains = example.test
virtual_mailbox_base = ${folder}/mail
virtual_mailbox_maps = texthash:${folder}/mailboxes
virtual_uid_maps = static:${uid}
virtual_gid_maps = static:${uid}
virtual_minimum_uid = 1
relay_domains = later.test, full.test, bounces.test
transport_maps = texthash:${folder}/transport
default_transport = error:5.4.4 There is no way out of here
`
}

function services(port: number, script: string): string {
  const internal = [
    ['cleanup', 'unix', 'n', '0', 'cleanup'],
    ['qmgr', 'unix', 'n', '1', 'qmgr'],
    ['rewrite', 'unix', '-', '-', 'trivial-rewrite'],
    ['bounce', 'unix', '-', '0', 'bounce'],
    ['defer', 'unix', '-', '0', 'bounce'],
    ['trace', 'unix', '-', '0', 'bounce'],
    ['error', 'unix', '-', '-', 'error'],
    ['proxymap', 'unix', '-', '-', 'proxymap'],
    ['retry', 'unix', '-', '-', 'error'],
    ['anvil', 'unix', '-', '1', 'anvil'],
    ['postlog', 'unix-dgram', 'n', '1', 'postlogd'],
  ]
  return [
    `127.0.0.1:${port} inet n - n - - smtpd`,
    ...internal.map(([name, type, open, limit, command]) => `${name} ${type} ${open} - n - ${limit} ${command}`),
    'virtual unix - n n - - virtual',
    `hand-over unix - n n - - pipe flags=q user=nobody argv=${script} \${original_recipient}`,
    'no-such-user unix - n n - - pipe user=nobody argv=/bin/sh -c {echo 5.1.1 No such user here; exit 67}',
    'mailbox-full unix - n n - - pipe user=nobody argv=/bin/sh -c {echo 5.2.2 The mailbox is full; exit 69}',
    '',
  ].join('\n')
}
