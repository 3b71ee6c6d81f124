import { readdirSync, readFileSync } from 'node:fs'

const ticksPerSecond = 100

/** The processor time of a process and its children so far, in milliseconds (Linux; elsewhere 0). */
export function cpuOf(pid: number | undefined): number {
  if (pid === undefined || process.platform !== 'linux') return 0
  const stats = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const text = readFileSync(`/proc/${name}/stat`, 'utf8')
        const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
        return [
          {
            pid: Number(name),
            parent: Number(fields[1]),
            ticks: fields.slice(11, 15).reduce((sum, n) => sum + Number(n), 0),
          },
        ]
      } catch {
        return []
      }
    })
  const own = stats.filter((stat) => stat.pid === pid || stat.parent === pid)
  return (own.reduce((sum, { ticks }) => sum + ticks, 0) * 1_000) / ticksPerSecond
}
