/** What stands on the label of a machine, whatever it is printed with. */
export interface Label {
  /** In large type: the end of the serial number, as the page shows it. */
  short: string;
  name: string;
  lines: string[];
  /** The page of the node: a phone opens it, a scanner finds the node by it. */
  url: string;
  /** The same as a QR code: a path of SVG that draws the dark modules in a square with this side, its quiet zone included. */
  qr: { side: number; path: string };
}
