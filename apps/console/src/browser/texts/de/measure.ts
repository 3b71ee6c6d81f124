/** The words about figures, the first steps and the state of the installation, in German. */
export const measure = {
  chart: {
    table: 'Als Tabelle zeigen',
    time: 'Zeit',
  },
}
